package native

// The call frame instructions of DWARF 5, section 6.4.2, as far as they concern the frame's address, rbp and the return address.

// kept says where the caller's value of a register is.
type kept struct {
	kind   keptKind
	offset int64 // keptAt: from the frame's address
}

type keptKind uint8

const (
	keptSame keptKind = iota // in the register
	keptUndefined
	keptAt
	keptAtBP  // where rbp points
	keptOther // in another way
)

// row is one row of the table that the instructions stand for.
type row struct {
	cfaRegister uint64
	cfaOffset   int64
	cfaDeref    bool // the frame's address lies in memory, at rbp plus cfaOffset
	bp, ra      kept
}

// noRegister is a frame's address that is not known.
const noRegister = ^uint64(0)

const maxRemembered = 64

type state struct {
	row, initial row
	remembered   []row
}

func newState() *state { return &state{row: row{cfaRegister: noRegister}} }

// run executes instructions until the row of an address is reached. ok is false where one is not understood. Every instruction
// takes at least a byte, so the program's length bounds it.
func (s *state) run(c *cie, program []byte, start, target uint64) (ok bool) {
	r := reader{data: program}
	at := start
	for len(r.data) > 0 && !r.failed {
		op := r.u8()
		switch operand := uint64(op & 0x3f); op >> 6 {
		case 1: // DW_CFA_advance_loc
			if at += operand * c.codeAlign; at > target {
				return true
			}
		case 2: // DW_CFA_offset
			s.keep(c, operand, kept{keptAt, int64(r.uleb()) * c.dataAlign})
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
	return !r.failed
}

// The instructions that have a byte of their own.
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
	cfaGNUArgsSize      = 0x2e
	cfaGNUNegative      = 0x2f
)

// extended executes one of them and returns how far the location advances.
func (s *state) extended(c *cie, r *reader, op byte) (advance uint64, known bool) {
	switch op {
	case cfaNop:
	case cfaAdvance1:
		return uint64(r.u8()) * c.codeAlign, true
	case cfaAdvance2:
		return uint64(r.u16()) * c.codeAlign, true
	case cfaAdvance4:
		return uint64(r.u32()) * c.codeAlign, true
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
		r.uleb()
	default:
		return 0, s.defineCFA(c, r, op) || s.defineRegister(c, r, op)
	}
	return 0, true
}

// defineCFA executes what says where the frame's address is; false if it is something else.
func (s *state) defineCFA(c *cie, r *reader, op byte) bool {
	deref := false
	switch op {
	case cfaDefCFA:
		s.row.cfaRegister = r.uleb()
		s.row.cfaOffset = int64(r.uleb())
	case cfaDefCFASF:
		s.row.cfaRegister = r.uleb()
		s.row.cfaOffset = r.sleb() * c.dataAlign
	case cfaDefCFARegister:
		s.row.cfaRegister = r.uleb()
	case cfaDefCFAOffset:
		s.row.cfaOffset = int64(r.uleb())
	case cfaDefCFAOffsetSF:
		s.row.cfaOffset = r.sleb() * c.dataAlign
	case cfaDefCFAExpression:
		s.row.cfaRegister = noRegister
		s.row.cfaOffset, deref = atBP(r.block(), true)
	default:
		return false
	}
	s.row.cfaDeref = deref
	return true
}

// defineRegister executes what says where the caller's value of a register is; false if it is something else.
func (s *state) defineRegister(c *cie, r *reader, op byte) bool {
	register := r.uleb()
	switch op {
	case cfaOffsetExtended:
		s.keep(c, register, kept{keptAt, int64(r.uleb()) * c.dataAlign})
	case cfaOffsetExtendedSF:
		s.keep(c, register, kept{keptAt, r.sleb() * c.dataAlign})
	case cfaGNUNegative:
		s.keep(c, register, kept{keptAt, -int64(r.uleb()) * c.dataAlign})
	case cfaRestoreExtended:
		s.restore(c, register)
	case cfaUndefined:
		s.keep(c, register, kept{kind: keptUndefined})
	case cfaSameValue:
		s.keep(c, register, kept{kind: keptSame})
	case cfaExpression:
		where := kept{kind: keptOther}
		if offset, ok := atBP(r.block(), false); ok && offset == 0 {
			where.kind = keptAtBP
		}
		s.keep(c, register, where)
	case cfaRegister, cfaValOffset:
		r.uleb()
		s.keep(c, register, kept{kind: keptOther})
	case cfaValOffsetSF:
		r.sleb()
		s.keep(c, register, kept{kind: keptOther})
	case cfaValExpression:
		r.block()
		s.keep(c, register, kept{kind: keptOther})
	default: // also DW_CFA_set_loc, which nobody writes for x86-64
		return false
	}
	return true
}

func (s *state) keep(c *cie, register uint64, where kept) {
	switch register {
	case regBP:
		s.row.bp = where
	case c.returnRegister:
		s.row.ra = where
	}
}

func (s *state) restore(c *cie, register uint64) {
	switch register {
	case regBP:
		s.row.bp = s.initial.bp
	case c.returnRegister:
		s.row.ra = s.initial.ra
	}
}

// atBP reads an expression that is rbp plus an offset, and what lies there if deref (DW_OP_breg6, DW_OP_deref).
func atBP(expression []byte, deref bool) (offset int64, ok bool) {
	const opBreg6, opDeref = 0x76, 0x06
	r := reader{data: expression}
	if r.u8() != opBreg6 {
		return 0, false
	}
	offset = r.sleb()
	if deref && r.u8() != opDeref {
		return 0, false
	}
	return offset, !r.failed && len(r.data) == 0
}
