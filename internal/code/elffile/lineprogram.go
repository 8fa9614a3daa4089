package elffile

import "math"

// maxUnit is the size of the largest line program that is read, in bytes. The largest seen has 1.1 MiB.
const maxUnit = 8 << 20

// lineSections are the sections with line programs and names. A section that the file lacks is empty, and so is a
// compressed one.
type lineSections struct{ line, lineStrings, strings extent }

// lineProgram is one unit's line program.
type lineProgram struct {
	sections   *lineSections
	unit, end  uint64 // offsets in .debug_line: of the header, and behind the program
	version    uint16
	wide       bool   // 64-bit DWARF: offsets have 8 bytes
	step       uint64 // the length of the shortest instruction
	lineBase   int64
	lineRange  uint64
	opcodeBase byte
	lengths    []byte  // the number of operands of each standard opcode
	names      Numbers // the header's lists of directories and files
	opcodes    Numbers
}

// lineRow gives the line of the instructions from an address on. If end is set, a sequence ends before the address.
type lineRow struct {
	address, file, line uint64
	end                 bool
}

// program reads the header of the line program at an offset. It returns the offset of the next program, or 0 if that is
// not known.
func (s *lineSections) program(at uint64) (p *lineProgram, next uint64, ok bool) {
	r := Numbers{Data: s.line.read(at, 12)}
	size := uint64(r.U32())
	p = &lineProgram{sections: s, unit: at}
	sizeField := uint64(4) // its own length in bytes
	if size == math.MaxUint32 {
		size, p.wide, sizeField = r.U64(), true, 12
	}
	if r.Failed || size == 0 || size > s.line.size-at-sizeField {
		return nil, 0, false
	}
	p.end = at + sizeField + size
	if size > maxUnit {
		return nil, p.end, false
	}
	unit := Numbers{Data: s.line.read(at+sizeField, size)}
	if p.version = unit.U16(); p.version < 2 || p.version > 5 {
		return nil, p.end, false
	}
	if p.version == 5 && (unit.U8() != 8 || unit.U8() != 0) { // sizes of an address and of a segment selector
		return nil, p.end, false
	}
	header := Numbers{Data: unit.Take(p.offset(&unit))}
	p.step = uint64(header.U8())
	if p.version >= 4 {
		header.U8() // operations in an instruction: 1 on this machine
	}
	header.U8() // whether rows begin statements by default
	p.lineBase, p.lineRange, p.opcodeBase = int64(int8(header.U8())), uint64(header.U8()), header.U8()
	if p.lineRange == 0 || p.opcodeBase == 0 {
		return nil, p.end, false
	}
	p.lengths = header.Take(uint64(p.opcodeBase) - 1)
	p.names, p.opcodes = header, unit
	return p, p.end, !header.Failed && !unit.Failed
}

// offset reads an offset in a section.
func (p *lineProgram) offset(r *Numbers) uint64 {
	if p.wide {
		return r.U64()
	}
	return uint64(r.U32())
}

// at returns the offset of the next opcode in .debug_line.
func (p *lineProgram) at() uint64 { return p.end - uint64(len(p.opcodes.Data)) }

// The opcodes that change a row's address, file or line: standard ones (DW_LNS_…), and extended ones (DW_LNE_…).
const (
	lineCopy         = 1
	lineAdvancePC    = 2
	lineAdvanceLine  = 3
	lineSetFile      = 4
	lineConstAddPC   = 8
	lineFixedAdvance = 9

	lineEndSequence = 1
	lineSetAddress  = 2
)

// run executes the program and calls show with each row, until show returns false. It ends, because every opcode takes
// at least a byte.
func (p *lineProgram) run(show func(lineRow) bool) {
	r := &p.opcodes
	row := lineRow{file: 1, line: 1}
	special := func(op byte) {
		adjusted := uint64(op - p.opcodeBase)
		row.address += adjusted / p.lineRange * p.step
		row.line += uint64(p.lineBase + int64(adjusted%p.lineRange))
	}
	for len(r.Data) > 0 && !r.Failed {
		op := r.U8()
		shown := false
		switch {
		case op >= p.opcodeBase:
			special(op)
			shown = true
		case op == 0:
			shown = p.extended(&row)
		case op == lineCopy:
			shown = true
		case op == lineAdvancePC:
			row.address += r.ULEB() * p.step
		case op == lineAdvanceLine:
			row.line += uint64(r.SLEB())
		case op == lineSetFile:
			row.file = r.ULEB()
		case op == lineConstAddPC: // the address of special opcode 255, without its line
			line := row.line
			special(255)
			row.line = line
		case op == lineFixedAdvance:
			row.address += uint64(r.U16())
		default:
			for range p.lengths[op-1] {
				r.ULEB()
			}
		}
		if shown && (r.Failed || !show(row)) {
			return
		}
		if row.end {
			row = lineRow{file: 1, line: 1}
		}
	}
}

// extended executes an extended opcode, which begins with its length, and reports whether it makes a row.
func (p *lineProgram) extended(row *lineRow) bool {
	e := Numbers{Data: p.opcodes.Block()}
	switch e.U8() {
	case lineEndSequence:
		row.end = true
		return true
	case lineSetAddress:
		row.address = e.U64()
	}
	return false
}
