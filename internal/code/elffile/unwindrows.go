package elffile

// The call frame instructions of DWARF 5, section 6.4.2, as far as they concern the frame's address, the frame
// pointer and the return address.

// kept says where the caller's value of a register is kept.
type kept struct {
	kind   keptKind
	offset int64 // keptAt: from the frame's address
}

type keptKind uint8

const (
	keptSame      keptKind = iota // in the register itself
	keptUndefined                 // nowhere: the caller's value is lost
	keptAt                        // in memory, at an offset from the frame's address
	keptAtBP                      // in memory, where the frame pointer points
	keptOther                     // in another way
)

// row is a row of the table that call frame instructions describe. It says, for a range of addresses, how to get to the
// caller. The frame's address is cfaRegister plus cfaOffset.
type row struct {
	cfaRegister uint64
	cfaOffset   int64
	cfaDeref    bool // the frame's address is the word in memory at the frame pointer plus cfaOffset
	bp, ra      kept // the frame pointer and the return address
}

// noRegister is the cfaRegister of a row whose frame address is not known.
const noRegister = ^uint64(0)

// maxRemembered is how many rows may be remembered at once.
const maxRemembered = 64

// state is the state of executing call frame instructions.
type state struct {
	*processor
	row, initial row // initial: after the instructions of the common entry
	remembered   []row
}

func newState(p *processor) *state { return &state{processor: p, row: row{cfaRegister: noRegister}} }

// run executes instructions until s.row is the row of address target. start is the address of the first row. ok is
// false if an instruction is not known. run ends, because every instruction takes at least a byte of the program.
func (s *state) run(c *Common, program []byte, start, target uint64) (ok bool) {
	r := Numbers{Data: program}
	at := start
	for len(r.Data) > 0 && !r.Failed {
		op := r.U8()
		switch operand := uint64(op & 0x3f); op >> 6 {
		case 1: // DW_CFA_advance_loc
			if at += operand * c.CodeAlign; at > target {
				return true
			}
		case 2: // DW_CFA_offset
			s.keep(c, operand, kept{keptAt, int64(r.ULEB()) * c.DataAlign})
		case 3: // DW_CFA_restore
			s.restore(c, operand)
		default:
			advance, known := s.extended(c, &r, op)
			if !known {
				return false
			}
			if at += advance; at > target {
				return true
			}
		}
	}
	return !r.Failed
}

// The instructions whose opcode is a whole byte.
const (
	cfaNop              = 0x00
	cfaSetLoc           = 0x01
	cfaAdvance1         = 0x02
	cfaAdvance2         = 0x03
	cfaAdvance4         = 0x04
	cfaOffsetExtended   = 0x05
	cfaRestoreExtended  = 0x06
	cfaUndefined        = 0x07
	cfaSameValue        = 0x08
	cfaRegister         = 0x09
	cfaRememberState    = 0x0a
	cfaRestoreState     = 0x0b
	cfaDefCFA           = 0x0c
	cfaDefCFARegister   = 0x0d
	cfaDefCFAOffset     = 0x0e
	cfaDefCFAExpression = 0x0f
	cfaExpression       = 0x10
	cfaOffsetExtendedSF = 0x11
	cfaDefCFASF         = 0x12
	cfaDefCFAOffsetSF   = 0x13
	cfaValOffset        = 0x14
	cfaValOffsetSF      = 0x15
	cfaValExpression    = 0x16
	cfaNegateRAStatePC  = 0x2c // from here on the return address is signed, or no longer
	cfaNegateRAState    = 0x2d // has the same meaning
	cfaGNUArgsSize      = 0x2e
	cfaGNUNegative      = 0x2f
)

// extended executes an instruction whose opcode is a whole byte, and returns by how many bytes the address advances.
func (s *state) extended(c *Common, r *Numbers, op byte) (advance uint64, known bool) {
	switch op {
	case cfaNop:
	case cfaAdvance1:
		return uint64(r.U8()) * c.CodeAlign, true
	case cfaAdvance2:
		return uint64(r.U16()) * c.CodeAlign, true
	case cfaAdvance4:
		return uint64(r.U32()) * c.CodeAlign, true
	case cfaRememberState:
		if len(s.remembered) >= maxRemembered {
			return 0, false
		}
		s.remembered = append(s.remembered, s.row)
	case cfaRestoreState:
		n := len(s.remembered)
		if n == 0 {
			return 0, false
		}
		s.row, s.remembered = s.remembered[n-1], s.remembered[:n-1]
	case cfaGNUArgsSize:
		r.ULEB()
	case cfaNegateRAState, cfaNegateRAStatePC: // need no action: unwinding removes a signature wherever one may be
		return 0, s.signed
	default:
		return 0, s.defineCFA(c, r, op) || s.defineRegister(c, r, op)
	}
	return 0, true
}

// defineCFA executes an instruction that defines the frame's address. It returns false for any other instruction.
func (s *state) defineCFA(c *Common, r *Numbers, op byte) bool {
	deref := false
	switch op {
	case cfaDefCFA:
		s.row.cfaRegister = r.ULEB()
		s.row.cfaOffset = int64(r.ULEB())
	case cfaDefCFASF:
		s.row.cfaRegister = r.ULEB()
		s.row.cfaOffset = r.SLEB() * c.DataAlign
	case cfaDefCFARegister:
		s.row.cfaRegister = r.ULEB()
	case cfaDefCFAOffset:
		s.row.cfaOffset = int64(r.ULEB())
	case cfaDefCFAOffsetSF:
		s.row.cfaOffset = r.SLEB() * c.DataAlign
	case cfaDefCFAExpression:
		s.row.cfaRegister = noRegister
		s.row.cfaOffset, deref = s.atBP(r.Block(), true)
	default:
		return false
	}
	s.row.cfaDeref = deref
	return true
}

// defineRegister executes an instruction that says where the caller's value of a register is kept. It returns false for
// any other instruction.
func (s *state) defineRegister(c *Common, r *Numbers, op byte) bool {
	register := r.ULEB()
	switch op {
	case cfaOffsetExtended:
		s.keep(c, register, kept{keptAt, int64(r.ULEB()) * c.DataAlign})
	case cfaOffsetExtendedSF:
		s.keep(c, register, kept{keptAt, r.SLEB() * c.DataAlign})
	case cfaGNUNegative:
		s.keep(c, register, kept{keptAt, -int64(r.ULEB()) * c.DataAlign})
	case cfaRestoreExtended:
		s.restore(c, register)
	case cfaUndefined:
		s.keep(c, register, kept{kind: keptUndefined})
	case cfaSameValue:
		s.keep(c, register, kept{kind: keptSame})
	case cfaExpression:
		where := kept{kind: keptOther}
		if offset, ok := s.atBP(r.Block(), false); ok && offset == 0 {
			where.kind = keptAtBP
		}
		s.keep(c, register, where)
	case cfaRegister, cfaValOffset:
		r.ULEB()
		s.keep(c, register, kept{kind: keptOther})
	case cfaValOffsetSF:
		r.SLEB()
		s.keep(c, register, kept{kind: keptOther})
	case cfaValExpression:
		r.Block()
		s.keep(c, register, kept{kind: keptOther})
	default: // also DW_CFA_set_loc, which no compiler writes
		return false
	}
	return true
}

// keep notes where the caller's value of a register is kept, if it is the frame pointer or the return address.
func (s *state) keep(c *Common, register uint64, where kept) {
	switch register {
	case s.bp:
		s.row.bp = where
	case c.ReturnRegister:
		s.row.ra = where
	}
}

// restore undoes what the entry's own instructions have said about a register.
func (s *state) restore(c *Common, register uint64) {
	switch register {
	case s.bp:
		s.row.bp = s.initial.bp
	case c.ReturnRegister:
		s.row.ra = s.initial.ra
	}
}

// atBP returns the offset of an expression that is the frame pointer plus an offset (DW_OP_breg). With deref the
// expression must be the word at that address (DW_OP_deref). ok is false for any other expression.
func (p *processor) atBP(expression []byte, deref bool) (offset int64, ok bool) {
	const opBreg0, opDeref = 0x70, 0x06
	r := Numbers{Data: expression}
	if uint64(r.U8()) != opBreg0+p.bp {
		return 0, false
	}
	offset = r.SLEB()
	if deref && r.U8() != opDeref {
		return 0, false
	}
	return offset, !r.Failed && len(r.Data) == 0
}
