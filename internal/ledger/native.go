package ledger

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/cilium/ebpf"
)

// NativeEnd is the reason why a native stack ends.
type NativeEnd uint32

// The ends.
const (
	NativeFull      = NativeEnd(kernelNativeEndNATIVE_FULL)      // there are more frames than the kernel keeps
	NativeOutermost = NativeEnd(kernelNativeEndNATIVE_OUTERMOST) // the thread begins here
	NativePython    = NativeEnd(kernelNativeEndNATIVE_PYTHON)    // the interpreter called it
	NativeUnknown   = NativeEnd(kernelNativeEndNATIVE_UNKNOWN)   // no rule leads further
	NativeMissing   = NativeEnd(kernelNativeEndNATIVE_MISSING)   // the rule did not arrive in time
)

// NativeStack is a native stack, innermost call first.
type NativeStack struct {
	PID    int32
	Number uint64
	Python uint64   // number of the [Stack] after it, 0 for none
	PCs    []uint64 // return addresses
	Leaf   bool     // the first one is the reached instruction, not a return address
	End    NativeEnd
}

// StackCopy is the top of a thread's stack at an allocation, for a stack that the kernel could not unwind. Its receiver
// must supply the missing rules.
type StackCopy struct {
	PID        int32
	Slot       uint32
	Number     uint64 // of the stack
	Python     uint64 // as in [NativeStack]
	IP, SP, BP uint64 // registers
	Link       uint64 // the register with the return address, where calls leave it in one
	Memory     []byte // from SP upwards; valid during the call only
}

// Base is the register from which a frame's address (CFA) is computed.
type Base uint32

// The bases. BaseBPDeref: the word in memory at the frame pointer plus the offset.
const (
	BaseUnknown   = Base(kernelRuleBaseRULE_UNKNOWN)   // no way to go further
	BaseOutermost = Base(kernelRuleBaseRULE_OUTERMOST) // it has no caller
	BaseSP        = Base(kernelRuleBaseRULE_SP)
	BaseBP        = Base(kernelRuleBaseRULE_BP)
	BaseBPDeref   = Base(kernelRuleBaseRULE_BP_DEREF)
)

// Rule tells how to unwind from a place in machine code to its caller.
type Rule struct {
	Base      Base
	CFAOffset int32
	BPOffset  int32 // from the frame's address to the saved frame pointer of the caller; 0: still in its register
	// Return is the place of the return address, in words below the frame's address; 0: where a call leaves it.
	Return uint32
	// Mapping is the number of the mapping at the place. No two mappings have the same number, so stacks through
	// another library at the same address differ.
	Mapping uint32
}

// ruleKey returns the key of bpf/native.h.
func ruleKey(slot uint32, pc uint64, leaf bool) uint64 {
	key := pc | uint64(slot)<<slotBit
	if leaf {
		key |= 1 << 63
	}
	return key
}

// Rules supplies the kernel half with the rules by which it unwinds stacks of machine code.
type Rules struct {
	objects *kernelObjects
	checked [MaxProcesses]uint32 // by slot: the changes for which rules were checked, plus 1; 0: use no rules
}

// SetRule supplies the kernel with the rule for a return address of the process in slot, or for an instruction (leaf).
// The error matches [ErrFull] where there is no room.
func (r *Rules) SetRule(slot uint32, pc uint64, leaf bool, rule Rule) error {
	raw := kernelRule{
		Base: uint32(rule.Base) | rule.Return<<8, CfaOffset: rule.CFAOffset, BpOffset: rule.BPOffset,
		Mapping: rule.Mapping,
	}
	if err := r.objects.Rules.Put(ruleKey(slot, pc, leaf), raw); err != nil {
		return fmt.Errorf("write a rule: %w: %w", ErrFull, err)
	}
	return nil
}

// DropRule removes a rule, because other code may be at its place by now.
func (r *Rules) DropRule(slot uint32, pc uint64, leaf bool) error {
	if err := r.objects.Rules.Delete(ruleKey(slot, pc, leaf)); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
		return fmt.Errorf("delete a rule: %w", err)
	}
	return nil
}

// CodeChanges returns the number of times that the process in slot has loaded or unloaded libraries.
func (r *Rules) CodeChanges(slot uint32) (uint32, error) {
	var changes [MaxProcesses]uint32
	if err := r.objects.CodeChanges.Get(&changes); err != nil {
		return 0, fmt.Errorf("read the changes of code: %w", err)
	}
	return changes[slot%MaxProcesses], nil
}

// CodeChecked confirms that the rules of the process in slot are right after changes changes. Until then the kernel
// half uses none of them.
func (r *Rules) CodeChecked(slot, changes uint32) error {
	r.checked[slot%MaxProcesses] = changes + 1
	return r.writeCodeChecked()
}

// CodeForgotten makes the kernel stop using the rules of the process in slot.
func (r *Rules) CodeForgotten(slot uint32) error {
	r.checked[slot%MaxProcesses] = 0
	return r.writeCodeChecked()
}

func (r *Rules) writeCodeChecked() error {
	if err := r.objects.CodeChecked.Set(r.checked); err != nil {
		return fmt.Errorf("write the checks of code: %w", err)
	}
	return nil
}

// decodeNative reads a native stack's record, which ends with its last frame. ok is false for a record that is too
// short.
func decodeNative(raw []byte) (s NativeStack, ok bool) {
	var whole kernelNative
	const head = int(unsafe.Offsetof(whole.Pcs))
	if len(raw) < head || len(raw) > int(unsafe.Sizeof(whole)) {
		return s, false
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&whole)), unsafe.Sizeof(whole)), raw)
	if whole.Count > MaxNative || head+int(whole.Count)*8 > len(raw) {
		return s, false
	}
	return NativeStack{
		PID: whole.Header.Pid, Number: whole.Number, Python: whole.Python, Leaf: whole.Leaf != 0,
		End: NativeEnd(whole.End),
		PCs: append([]uint64(nil), whole.Pcs[:whole.Count]...),
	}, true
}

func decodeCopy(c *kernelCopy) StackCopy {
	return StackCopy{
		PID: c.Header.Pid, Slot: c.Slot, Number: c.Number, Python: c.Python, IP: c.Ip, SP: c.Sp, BP: c.Bp, Link: c.Link,
		Memory: c.Memory[:min(int(c.Size), len(c.Memory))],
	}
}
