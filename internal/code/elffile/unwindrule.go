package elffile

// Base says how a frame's address is computed. The address is the CFA of DWARF: the value that the stack pointer had
// before the call.
type Base uint32

// The bases, in the order of bpf/wire.h.
const (
	UnknownBase Base = iota // there is no rule
	Outermost               // the function has no caller, because the thread begins with it
	SP                      // the stack pointer plus CFAOffset
	BP                      // the frame pointer plus CFAOffset
	// BPDeref is for functions that have realigned their stack: the word in memory at the frame pointer plus CFAOffset.
	// The caller's frame pointer lies where the frame pointer points. GCC writes this as DW_OP_breg6 -8; DW_OP_deref.
	BPDeref
)

// Rule leads from an instruction to the caller of its function.
type Rule struct {
	Base      Base
	CFAOffset int32
	BPOffset  int32 // from the frame's address to the caller's frame pointer in memory; 0: it is still in its register
	// Return is the distance from the frame's address down to the return address, in words. 0 stands for the place
	// where a call leaves the return address: directly below the frame's address, or in a register.
	Return uint32
}

// Rule returns the rule that leads from an instruction to the caller. For a return address, vaddr must be the byte
// before it, because the call may be the last instruction of its function.
func (m *Module) Rule(vaddr uint64) Rule {
	entry, ok := m.frames.At(vaddr)
	if !ok {
		return Rule{}
	}
	return m.processor.ruleAt(entry, vaddr)
}

// ruleAt executes an entry's instructions up to an address.
func (p *processor) ruleAt(entry Entry, vaddr uint64) Rule {
	s := newState(p)
	if !s.run(entry.Common, entry.Common.Program, entry.Start, ^uint64(0)) {
		return Rule{}
	}
	s.initial = s.row
	if !s.run(entry.Common, entry.Program, entry.Start, vaddr) {
		return Rule{}
	}
	return p.rule(&s.row)
}

// rule turns a row into a [Rule]. A Rule can express only what the code of compilers and of libffi needs. Any other row
// becomes the zero Rule.
func (p *processor) rule(given *row) Rule {
	r := p.above(*given)
	if r.ra.kind == keptUndefined {
		return Rule{Base: Outermost}
	}
	below, ok := p.wordsToReturn(r.ra)
	if !ok || !small(r.cfaOffset) || !small(r.bp.offset) {
		return Rule{}
	}
	out := Rule{CFAOffset: int32(r.cfaOffset), Return: below}
	switch {
	case r.cfaDeref:
		if r.bp.kind != keptAtBP {
			return Rule{}
		}
		out.Base = BPDeref
		return out
	case r.cfaRegister == p.sp:
		out.Base = SP
	case r.cfaRegister == p.bp:
		out.Base = BP
	default:
		return Rule{}
	}
	switch r.bp.kind {
	case keptSame, keptUndefined:
	case keptAt:
		if out.BPOffset = int32(r.bp.offset); out.BPOffset == 0 {
			return Rule{} // at the frame's address lies the caller's frame
		}
	default:
		return Rule{}
	}
	return out
}

// maxReturn is more words than a frame has between its address and the return address.
const maxReturn = 1 << 23

// wordsToReturn returns the field Return of a rule for a return address that is kept in ra. ok is false if a Rule
// cannot express that.
func (p *processor) wordsToReturn(ra kept) (below uint32, ok bool) {
	switch {
	case !p.linked:
		return 0, ra.kind == keptAt && ra.offset == returnAddress
	case ra.kind == keptSame:
		return 0, true
	}
	ok = ra.kind == keptAt && ra.offset < 0 && ra.offset > -8*maxReturn && ra.offset%8 == 0
	if !ok {
		return 0, false
	}
	return uint32(-ra.offset / 8), true
}

// small reports whether an offset fits into the fields of a [Rule], with room for sums.
func small(n int64) bool { return n > -1<<30 && n < 1<<30 }
