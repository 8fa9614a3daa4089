package native

import "ipytracer/tracer/code/elffile"

// Base is the register from which a frame's address is reckoned: the CFA of DWARF, the value of the stack pointer
// before the call.
type Base uint32

// The bases, in the order of bpf/wire.h.
const (
	Unknown   Base = iota // no way to go on
	Outermost             // it has no caller: a thread begins here
	SP                    // the stack pointer plus CFAOffset
	BP                    // the frame pointer plus CFAOffset
	// BPDeref is the word in memory at the frame pointer plus CFAOffset, where a function has realigned its stack; the
	// caller's lies where the frame pointer points. GCC writes that as DW_OP_breg6 -8; DW_OP_deref.
	BPDeref
)

// Rule leads from a place to its caller. The return address lies 8 bytes below the frame's address.
type Rule struct {
	Base      Base
	CFAOffset int32
	BPOffset  int32 // from the frame's address to where the caller's frame pointer is kept; 0: it is in its register
}

// Rule returns the rule that leads from an instruction to the caller. For a return address ask for the byte before it:
// the call may be the last instruction of its function.
func (m *Module) Rule(vaddr uint64) Rule {
	entry, ok := m.frames.At(vaddr)
	if !ok {
		return Rule{}
	}
	return ruleAt(entry, vaddr)
}

// ruleAt executes an entry's instructions up to an address.
func ruleAt(entry elffile.Entry, vaddr uint64) Rule {
	s := newState()
	if !s.run(entry.Common, entry.Common.Program, entry.Start, ^uint64(0)) {
		return Rule{}
	}
	s.initial = s.row
	if !s.run(entry.Common, entry.Program, entry.Start, vaddr) {
		return Rule{}
	}
	return s.row.rule()
}

// rule returns the row in the few terms that are enough for the code of compilers.
func (r row) rule() Rule {
	if r.ra.kind == keptUndefined {
		return Rule{Base: Outermost}
	}
	if r.ra.kind != keptAt || r.ra.offset != returnAddress {
		return Rule{}
	}
	if !small(r.cfaOffset) || !small(r.bp.offset) {
		return Rule{}
	}
	out := Rule{CFAOffset: int32(r.cfaOffset)}
	switch {
	case r.cfaDeref:
		if r.bp.kind != keptAtBP {
			return Rule{}
		}
		out.Base = BPDeref
		return out
	case r.cfaRegister == regSP:
		out.Base = SP
	case r.cfaRegister == regBP:
		out.Base = BP
	default:
		return Rule{}
	}
	switch r.bp.kind {
	case keptSame, keptUndefined:
	case keptAt:
		if out.BPOffset = int32(r.bp.offset); out.BPOffset == 0 {
			return Rule{} // would be in the caller's frame
		}
	default:
		return Rule{}
	}
	return out
}

func small(n int64) bool { return n > -1<<30 && n < 1<<30 }
