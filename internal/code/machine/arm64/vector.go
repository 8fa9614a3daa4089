package arm64

import "ipytracer/internal/code/isa"

// vector decodes instructions on numbers with a fraction and on vectors (section C4.1.90). A few of them write a
// general register, and none writes memory.
func vector(in *isa.Instruction, w word) {
	in.Kind, in.Plain = isa.Other, true
	in.Operands[0] = isa.Operand{Kind: isa.Elsewhere}
	if w.writesGeneral() {
		writes(in, w.bits(4, 0))
		in.Operands[0] = register(w.bits(4, 0), isa.Word)
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
