package elffile

import (
	"encoding/binary"
)

// Registers are the registers of a thread that unwinding needs. Link is the register with the return address, on
// processors that have such a register.
type Registers struct{ IP, SP, BP, Link uint64 }

// UnwindEnd is the reason why a chain of calls ends.
type UnwindEnd uint8

// The reasons.
const (
	EndFull      UnwindEnd = iota // the limit of calls, or the end of the copy of the stack
	EndOutermost                  // the first function of the thread
	EndStopped                    // the caller's stop returned true
	EndUnknown                    // there is no rule for the address
)

// Unwind returns the return addresses of a thread's calls, the innermost first, at most limit. stack is a copy of the
// stack's memory from the stack pointer upwards. rule returns the rule for an address; leaf tells it that the address
// is the instruction pointer, and not a return address. stop reports whether the chain ends at a return address. Unwind
// does the same as next_native_frame in bpf/native.h.
func Unwind(r Registers, stack []byte, limit int,
	rule func(pc uint64, leaf bool) Rule, stop func(pc uint64) bool) (calls []uint64, end UnwindEnd) {
	return processors[Native].unwind(r, stack, limit, rule, stop)
}

// unwind does what [Unwind] does, for a thread on a processor.
func (p *processor) unwind(r Registers, stack []byte, limit int,
	rule func(pc uint64, leaf bool) Rule, stop func(pc uint64) bool) (calls []uint64, end UnwindEnd) {
	at := r // the registers in the current frame
	word := func(address uint64) (uint64, bool) {
		if address < r.SP || address-r.SP > uint64(len(stack)) || uint64(len(stack))-(address-r.SP) < 8 {
			return 0, false
		}
		return binary.LittleEndian.Uint64(stack[address-r.SP:]), true
	}
	for leaf := true; ; leaf = false {
		if at.IP >= 1<<p.userBits {
			return calls, EndUnknown
		}
		toCaller := rule(at.IP, leaf)
		frame, bp, end := at.caller(toCaller, leaf && p.linked, word)
		if end != EndStopped {
			return calls, end
		}
		pc, end := p.returnAddress(toCaller, frame, r, leaf, word)
		if end != EndStopped {
			return calls, end
		}
		at = Registers{IP: pc, SP: frame, BP: bp}
		switch {
		case pc == 0:
			return calls, EndOutermost
		case stop(pc):
			return calls, EndStopped
		case len(calls) >= limit:
			return calls, EndFull
		}
		calls = append(calls, pc)
	}
}

// returnAddress reads the return address of the frame at an address, which a rule has led to. Only in the leaf, the
// innermost frame, can the return address be in a register. end is EndStopped if there is a return address.
func (p *processor) returnAddress(rule Rule, frame uint64, r Registers, leaf bool,
	word func(uint64) (uint64, bool)) (pc uint64, end UnwindEnd) {
	below := uint64(rule.Return)
	switch {
	case below == 0 && !p.linked:
		below = 1
	case below == 0 && leaf:
		return p.code(r.Link), EndStopped
	case below == 0:
		return 0, EndUnknown
	}
	pc, ok := word(frame - 8*below)
	if !ok {
		return 0, EndFull
	}
	return p.code(pc), EndStopped
}

// caller applies a rule to the registers of a frame. It returns the frame's address and the caller's frame pointer. A
// frame is empty if the function has put nothing on the stack yet. end is EndStopped if there is a caller.
func (r Registers) caller(rule Rule, mayBeEmpty bool,
	word func(uint64) (uint64, bool)) (frame, bp uint64, end UnwindEnd) {
	bp = r.BP
	var ok bool
	switch rule.Base {
	case Outermost:
		return 0, 0, EndOutermost
	case SP:
		frame = r.SP + uint64(int64(rule.CFAOffset))
	case BP:
		frame = r.BP + uint64(int64(rule.CFAOffset))
	case BPDeref:
		if frame, ok = word(r.BP + uint64(int64(rule.CFAOffset))); !ok {
			return 0, 0, EndFull
		}
		if bp, ok = word(r.BP); !ok {
			return 0, 0, EndFull
		}
	default:
		return 0, 0, EndUnknown
	}
	if frame < r.SP || frame == r.SP && !mayBeEmpty {
		return 0, 0, EndUnknown
	}
	if rule.BPOffset != 0 {
		if bp, ok = word(frame + uint64(int64(rule.BPOffset))); !ok {
			return 0, 0, EndFull
		}
	}
	return frame, bp, EndStopped
}
