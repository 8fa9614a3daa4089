package arm64

import "ipytracer/internal/code/isa"

// memory decodes loads and stores (section C4.1.88).
func memory(in *isa.Instruction, code word) {
	in.Flags = isa.FlagsKept
	switch vector := code.bits(26, 26) == 1; code.bits(29, 28) {
	case 0b00:
		if vector {
			structures(in, code)
			return
		}
		ordered(in, code)
	case 0b01:
		if code.bits(24, 24) == 0 {
			literal(in, code)
			return
		}
		unscaledOrTags(in, code)
	case 0b10:
		pair(in, code)
	default:
		single(in, code)
	}
}

// access is a load or a store of one register.
type access struct {
	loads, vector bool
	size          uint16 // in memory, in bytes
	signed        bool   // extends the sign of what it loads
	wide          bool   // writes a whole register, not only its lower half
	register      uint32
	to            isa.Operand // in memory
}

// apply fills in the access.
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

// writesBack marks an instruction as one that adds by to its base register.
func writesBack(in *isa.Instruction, base uint32, by int64) {
	if base == 31 {
		in.Stack, in.By = isa.StackMoves, -by
		in.Also |= stackPointer.Set()
		return
	}
	also(in, base)
}

// writesBackUnknown does what writesBack does, with an unknown distance.
func writesBackUnknown(in *isa.Instruction, base uint32) {
	writesBack(in, base, 0)
	if base == 31 {
		in.Stack = isa.StackLost
	}
}

// The addressing modes with write-back. The first uses the base register before the distance is added, the second
// afterwards.
const (
	postIndex = 0b01
	preIndex  = 0b11
)

// single decodes an access of one register.
func single(in *isa.Instruction, code word) {
	a := code.access()
	base := code.bits(9, 5)
	switch {
	case code.bits(24, 24) == 1: // at a multiple of the size from a register
		a.to = inMemory(base, int64(code.bits(21, 10))*int64(a.size), 0)
	case code.bits(21, 21) == 0:
		above := code.signed(20, 12)
		mode := code.bits(11, 10)
		if mode == postIndex {
			a.to = inMemory(base, 0, 0)
		} else {
			a.to = inMemory(base, above, 0)
		}
		if mode == postIndex || mode == preIndex {
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
	default: // a load with authentication of the pointer, or an unknown instruction
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

// access returns an access of one register without its operand in memory.
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

// atomic decodes an atomic operation on memory.
func atomic(in *isa.Instruction, code word) {
	if code.bits(15, 15) == 1 {
		switch code.bits(14, 12) {
		case 0b001, 0b010, 0b011, 0b101: // ld64b, st64b and the like: 64 bytes
			opaque(in, code)
			return
		}
	}
	writes(in, code.bits(4, 0))
	in.Flags = isa.FlagsKept
	in.Operands[0] = inMemory(code.bits(9, 5), 0, 1<<code.bits(31, 30))
}

// literal decodes a load from an address relative to the instruction.
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
	first, base, second, mode := code.bits(4, 0), code.bits(9, 5), code.bits(14, 10), code.bits(24, 23)
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
	if mode == postIndex {
		above = 0
	}
	to := inMemory(base, above, uint16(size))
	switch {
	case !vector && opc == 0b10:
		words(in, loads, first, second, to)
	case !vector && opc == 0b11:
		opaque(in, code)
	case loads:
		in.Kind, in.Plain, in.Operands[0], in.Operands[1] = isa.Other, true, isa.Operand{Kind: isa.Elsewhere}, to
		if !vector {
			writes(in, first)
			also(in, second)
		}
	default:
		to.Width *= 2
		in.Kind, in.Plain, in.Operands[0] = isa.Other, true, to
	}
	if mode == postIndex || mode == preIndex {
		writesBack(in, base, by)
	}
}

// words decodes an access of two whole registers.
func words(in *isa.Instruction, loads bool, first, second uint32, to isa.Operand) {
	next := to
	next.Value += isa.Word
	in.Kind, in.Plain = isa.Pair, true
	if !loads {
		in.Operands = [4]isa.Operand{to, register(first, isa.Word), next, register(second, isa.Word)}
		return
	}
	writes(in, first)
	also(in, second)
	in.Operands = [4]isa.Operand{register(first, isa.Word), to, register(second, isa.Word), next}
}

// ordered decodes exclusive and ordered loads and stores, and compare-and-swap instructions.
func ordered(in *isa.Instruction, code word) {
	if code.bits(24, 24) == 1 { // later versions of the architecture
		opaque(in, code)
		return
	}
	// o2 and o1 are the manual's names. Neither has a meaning without the other.
	o2, loads, o1 := code.bits(23, 23) == 1, code.bits(22, 22) == 1, code.bits(21, 21) == 1
	isCas, isCasp, isOrdered := o2 && o1, !o2 && o1 && !code.wide(), o2 && !o1
	paired := o1 // of an exclusive access
	// result is the register for the old value of memory, or for the status of an exclusive store.
	result, register := code.bits(20, 16), code.bits(4, 0)
	to := inMemory(code.bits(9, 5), 0, 1<<code.bits(31, 30))
	switch {
	case isCas:
		writes(in, result)
		in.Operands[0] = to
	case isCasp:
		writes(in, result)
		also(in, (result+1)&31)
		to.Width = 2 * isa.Word
		in.Operands[0] = to
	case isOrdered: // stlr, ldar
		a := access{loads: loads, size: to.Width, wide: to.Width == isa.Word, register: register, to: to}
		a.apply(in)
	case loads: // ldxr, ldxp
		in.Exclusive = isa.ExclusiveLoad
		writes(in, register)
		in.Operands[1] = to
		if paired {
			also(in, code.bits(14, 10))
		}
	default: // stxr, stxp
		in.Exclusive = isa.ExclusiveStore
		writes(in, result)
		if paired {
			to.Width *= 2
		}
		in.Operands[0] = to
	}
}

// structures decodes loads and stores of several vector registers.
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
	if code.bits(31, 31) == 1 { // later versions of the architecture
		opaque(in, code)
	}
}

// unscaledOrTags decodes ordered accesses with a distance in bytes. All other instructions of the group are opaque,
// such as those that read and write memory tags.
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
	if base := code.bits(9, 5); base == 31 { // the stack pointer may be written back
		in.Stack = isa.StackLost
	}
}

// vector decodes floating-point and vector instructions (section C4.1.90). A few of them write a general register, and
// none writes memory.
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
	case w.is(0x7f20fc00, 0x1e200000): // conversions from and to integers, and copies
		return opcode != 0b010 && opcode != 0b011 && opcode != 0b111
	case w.is(0x7f200000, 0x1e000000): // conversions from and to fixed-point numbers
		return opcode&0b110 != 0b010
	}
	return w.is(0xbfe0fc00, 0x0e002c00) || w.is(0xbfe0fc00, 0x0e003c00) // smov, umov
}
