package arm64

import "ipytracer/internal/code/isa"

// memory decodes loads and stores (section C4.1.88).
func memory(in *isa.Instruction, code word) {
	in.Flags = isa.FlagsKept
	group := code.bits(29, 28)
	isVector, isLiteral := code.bits(26, 26) == 1, code.bits(24, 24) == 0
	switch {
	case group == 0b00 && isVector:
		structures(in, code)
	case group == 0b00:
		ordered(in, code)
	case group == 0b01 && isLiteral:
		literal(in, code)
	case group == 0b01:
		unscaledOrTags(in, code)
	case group == 0b10:
		pair(in, code)
	default:
		single(in, code)
	}
}

// access is a load or a store.
type access struct {
	loads, vector bool
	size          uint16 // in memory, in bytes
	signed        bool   // widens what it loads
	wide          bool   // to a whole register
	register      uint32
	to            isa.Operand // in memory
}

// apply fills in an access of one register.
func (a access) apply(in *isa.Instruction) {
	a.to.Width = a.size
	whole := !a.vector && a.size >= isa.Word/2 && !a.signed
	switch {
	case !a.loads:
		in.Kind, in.Plain, in.Operands[0] = isa.Other, true, a.to
		if !a.vector {
			in.Kind, in.Operands[1] = isa.Move, register(a.register, min(a.size, isa.Word))
		}
	case a.vector:
		in.Kind, in.Plain, in.Operands[0], in.Operands[1] = isa.Other, true, isa.Operand{Kind: isa.Elsewhere}, a.to
	default:
		writes(in, a.register)
		width := uint16(isa.Word / 2)
		if a.wide {
			width = isa.Word
		}
		in.Kind, in.Operands[0], in.Operands[1] = isa.Other, register(a.register, width), a.to
		if whole && a.register != 31 {
			in.Kind = isa.Move
		}
	}
}

// writesBack notes that an access moves its address, by a distance, in the register that has it.
func writesBack(in *isa.Instruction, base uint32, by int64) {
	if base == 31 {
		in.Stack, in.By = isa.StackMoves, -by
		in.Also |= stackPointer.Set()
		return
	}
	also(in, base)
}

// writesBackUnknown is [writesBack] by a distance that is not known.
func writesBackUnknown(in *isa.Instruction, base uint32) {
	writesBack(in, base, 0)
	if base == 31 {
		in.Stack = isa.StackLost
	}
}

// single decodes an access of one register.
func single(in *isa.Instruction, code word) {
	a := code.access()
	base := code.bits(9, 5)
	switch {
	case code.bits(24, 24) == 1: // a multiple of the size above a register
		a.to = inMemory(base, int64(code.bits(21, 10))*int64(a.size), 0)
	case code.bits(21, 21) == 0:
		above := code.signed(20, 12)
		how := code.bits(11, 10)
		if how == 0b01 { // the address is written back only
			a.to = inMemory(base, 0, 0)
		} else {
			a.to = inMemory(base, above, 0)
		}
		if how&1 == 1 {
			defer writesBack(in, base, above)
		}
	case code.bits(11, 10) == 0b10:
		a.to = inMemory(base, 0, 0)
		if index := general(code.bits(20, 16)); index != isa.None {
			a.to.Index = index
		}
	case code.bits(11, 10) == 0b00 && !a.vector:
		atomic(in, code)
		return
	default: // with a pointer that is authenticated; others are not known
		if a.vector || code.bits(31, 30) != 0b11 {
			opaque(in, code)
			return
		}
		writes(in, a.register)
		if code.bits(11, 11) == 1 {
			writesBackUnknown(in, base)
		}
		return
	}
	if !a.vector && code.bits(31, 30) == 0b11 && code.bits(23, 22) == 0b10 { // a prefetch
		in.Kind, in.Plain = isa.Nop, true
		return
	}
	a.apply(in)
}

// access returns the size and the direction of an access of one register.
func (w word) access() (a access) {
	a.vector, a.register = w.bits(26, 26) == 1, w.bits(4, 0)
	size, opc := w.bits(31, 30), w.bits(23, 22)
	if a.vector {
		a.loads = opc&1 == 1
		a.size = 1 << (size | opc&0b10<<1)
		return a
	}
	a.loads, a.signed = opc != 0, opc >= 0b10
	a.size = 1 << size
	a.wide = size == 0b11 || opc == 0b10
	return a
}

// atomic decodes an access that reads and writes memory at once, or in order.
func atomic(in *isa.Instruction, code word) {
	opaqueSizes := code.bits(15, 15) == 1 && (code.bits(14, 12) == 0b001 || code.bits(14, 12) == 0b010 ||
		code.bits(14, 12) == 0b011 || code.bits(14, 12) == 0b101)
	if opaqueSizes { // ld64b, st64b; with checks
		opaque(in, code)
		return
	}
	writes(in, code.bits(4, 0))
	in.Flags = isa.FlagsKept
	in.Operands[0] = inMemory(code.bits(9, 5), 0, 1<<code.bits(31, 30))
}

// literal decodes a load from a place near the instruction.
func literal(in *isa.Instruction, code word) {
	a := access{loads: true, vector: code.bits(26, 26) == 1, register: code.bits(4, 0)}
	place := uint64(int64(in.Addr) + code.signed(23, 5)*size)
	switch opc := code.bits(31, 30); {
	case a.vector:
		a.size = 4 << opc
	case opc == 0b11: // a prefetch
		in.Kind, in.Plain = isa.Nop, true
		return
	default:
		a.size, a.wide, a.signed = 4, opc != 0, opc == 0b10
		if opc == 0b01 {
			a.size = isa.Word
		}
	}
	a.to = at(place, 0)
	a.apply(in)
}

// pair decodes an access of two registers.
func pair(in *isa.Instruction, code word) {
	loads, vector, opc := code.bits(22, 22) == 1, code.bits(26, 26) == 1, code.bits(31, 30)
	one, base, other, how := code.bits(4, 0), code.bits(9, 5), code.bits(14, 10), code.bits(24, 23)
	size := int64(4)
	switch {
	case vector:
		size = 4 << opc
	case opc == 0b01 && !loads: // stgp, which stores tags as well
		size = 16
	case opc >= 0b10:
		size = isa.Word
	}
	by := code.signed(21, 15) * size
	above := by
	if how == 0b01 {
		above = 0
	}
	to := inMemory(base, above, uint16(size))
	switch {
	case !vector && opc == 0b10:
		words(in, loads, one, other, to)
	case !vector && opc == 0b11:
		opaque(in, code)
	case loads:
		in.Kind, in.Plain, in.Operands[0], in.Operands[1] = isa.Other, true, isa.Operand{Kind: isa.Elsewhere}, to
		if !vector {
			writes(in, one)
			also(in, other)
		}
	default:
		to.Width *= 2
		in.Kind, in.Plain, in.Operands[0] = isa.Other, true, to
	}
	if how&1 == 1 {
		writesBack(in, base, by)
	}
}

// words fills in an access of two whole registers.
func words(in *isa.Instruction, loads bool, one, other uint32, to isa.Operand) {
	next := to
	next.Value += isa.Word
	in.Kind, in.Plain = isa.Pair, true
	if !loads {
		in.Operands = [4]isa.Operand{to, register(one, isa.Word), next, register(other, isa.Word)}
		return
	}
	writes(in, one)
	also(in, other)
	in.Operands = [4]isa.Operand{register(one, isa.Word), to, register(other, isa.Word), next}
}

// ordered decodes accesses that are exclusive or in order, and comparisons with memory that swap.
func ordered(in *isa.Instruction, code word) {
	if code.bits(24, 24) == 1 { // of later versions
		opaque(in, code)
		return
	}
	loads, paired, plain := code.bits(22, 22) == 1, code.bits(21, 21) == 1, code.bits(23, 23) == 1
	status, register := code.bits(20, 16), code.bits(4, 0)
	to := inMemory(code.bits(9, 5), 0, 1<<code.bits(31, 30))
	switch {
	case plain && !paired: // stlr, ldar
		a := access{loads: loads, size: to.Width, wide: to.Width == isa.Word, register: register, to: to}
		a.apply(in)
	case plain: // cas
		writes(in, status)
		in.Operands[0] = to
	case paired && !code.wide(): // casp
		writes(in, status)
		also(in, (status+1)&31)
		to.Width = 2 * isa.Word
		in.Operands[0] = to
	case loads:
		in.Exclusive = isa.ExclusiveLoad
		writes(in, register)
		in.Operands[1] = to
		if paired {
			also(in, code.bits(14, 10))
		}
	default: // the status is written
		in.Exclusive = isa.ExclusiveStore
		writes(in, status)
		in.Operands[0] = to
		if paired {
			in.Operands[0].Width *= 2
		}
	}
}

// structures decodes accesses of several vectors.
func structures(in *isa.Instruction, code word) {
	in.Kind, in.Plain = isa.Other, true
	to := inMemory(code.bits(9, 5), 0, 0)
	if loads := code.bits(22, 22) == 1; loads {
		in.Operands[0], in.Operands[1] = isa.Operand{Kind: isa.Elsewhere}, to
	} else {
		in.Operands[0] = to
	}
	if code.bits(23, 23) == 1 {
		writesBackUnknown(in, code.bits(9, 5))
	}
	if code.bits(31, 31) == 1 { // of later versions
		opaque(in, code)
	}
}

// unscaledOrTags decodes accesses in order at a distance from a register. All others, as of memory's tags, are opaque.
func unscaledOrTags(in *isa.Instruction, code word) {
	if code.is(0x3f200c00, 0x19000000) && code.bits(26, 26) == 0 { // stlur, ldapur
		a := code.access()
		a.to = inMemory(code.bits(9, 5), code.signed(20, 12), 0)
		if a.signed && a.size == isa.Word {
			opaque(in, code)
			return
		}
		a.apply(in)
		return
	}
	opaque(in, code)
	if code.bits(9, 5) == 31 { // the access may write the stack pointer back
		in.Stack = isa.StackLost
	}
}

// vector decodes instructions on numbers with a fraction and on vectors (section C4.1.90). A few of them write a
// general register, and none writes memory.
func vector(in *isa.Instruction, code word) {
	in.Kind, in.Plain = isa.Other, true
	in.Operands[0] = isa.Operand{Kind: isa.Elsewhere}
	if code.writesGeneral() {
		writes(in, code.bits(4, 0))
		in.Operands[0] = register(code.bits(4, 0), isa.Word)
	}
}

// writesGeneral reports whether the result goes into a general register.
func (w word) writesGeneral() bool {
	switch opcode := w.bits(18, 16); {
	case w.is(0x7f20fc00, 0x1e200000): // conversions with a whole number, and copies
		return opcode != 0b010 && opcode != 0b011 && opcode != 0b111
	case w.is(0x7f200000, 0x1e000000): // conversions with a number of fixed point
		return opcode&0b110 != 0b010
	}
	return w.is(0xbfe0fc00, 0x0e002c00) || w.is(0xbfe0fc00, 0x0e003c00) // smov, umov
}
