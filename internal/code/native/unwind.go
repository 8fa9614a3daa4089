package native

import (
	"encoding/binary"

	"ipytracer/internal/code/elffile"
)

// Registers are a thread's, as far as unwinding takes them. Link is the one with the return address, on processors that
// have such a register.
type Registers struct{ IP, SP, BP, Link uint64 }

// End is the reason why a chain of calls ends.
type End uint8

// The ends.
const (
	EndFull      End = iota // there is more than is kept, or than was copied of the stack
	EndOutermost            // the thread begins here
	EndStopped              // where it was to stop
	EndUnknown              // no rule leads on
)

// Unwind returns the return addresses of a thread's calls, the innermost first, at most limit. stack is a copy of its
// memory from the stack pointer upwards. rule returns the rule for the instruction at ip (leaf) or for a return
// address. stop reports whether the caller at a return address is not to be followed. Unwind does the same as
// next_native_frame in bpf/native.h.
func Unwind(r Registers, stack []byte, limit int,
	rule func(pc uint64, leaf bool) Rule, stop func(pc uint64) bool) (calls []uint64, end End) {
	return processors[elffile.Native].unwind(r, stack, limit, rule, stop)
}

// unwind is [Unwind] of a thread on a processor.
func (p *processor) unwind(r Registers, stack []byte, limit int,
	rule func(pc uint64, leaf bool) Rule, stop func(pc uint64) bool) (calls []uint64, end End) {
	at := r // the frame looked at
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
		how := rule(at.IP, leaf)
		frame, bp, end := at.caller(how, leaf && p.linked, word)
		if end != EndStopped {
			return calls, end
		}
		pc, end := p.returnAddress(how, frame, r, leaf, word)
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

// returnAddress reads the return address of the frame that a rule leads to. It can be in a register only at the
// beginning of the chain. end is EndStopped if there is an address.
func (p *processor) returnAddress(how Rule, frame uint64, r Registers, leaf bool,
	word func(uint64) (uint64, bool)) (pc uint64, end End) {
	below := uint64(how.Return)
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

// caller applies a rule: the frame's address and the caller's frame pointer. A frame may be empty where nothing is on
// the stack yet. end is EndStopped if there is a caller.
func (r Registers) caller(how Rule, mayBeEmpty bool,
	word func(uint64) (uint64, bool)) (frame, bp uint64, end End) {
	bp = r.BP
	var ok bool
	switch how.Base {
	case Outermost:
		return 0, 0, EndOutermost
	case SP:
		frame = r.SP + uint64(int64(how.CFAOffset))
	case BP:
		frame = r.BP + uint64(int64(how.CFAOffset))
	case BPDeref:
		if frame, ok = word(r.BP + uint64(int64(how.CFAOffset))); !ok {
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
	if how.BPOffset != 0 {
		if bp, ok = word(frame + uint64(int64(how.BPOffset))); !ok {
			return 0, 0, EndFull
		}
	}
	return frame, bp, EndStopped
}
