package arm64

import (
	"encoding/binary"

	"ipytracer/internal/code/isa"
)

// decode implements the field Decode of [isa.Architecture].
func decode(code []byte, addr uint64) (in isa.Instruction, ok bool) {
	in.Addr = addr
	if len(code) < size {
		return in, false
	}
	encoded := word(binary.LittleEndian.Uint32(code))
	in.Len = size
	in.Emulated, in.Refused = emulated(encoded), refused(encoded)
	ok = fill(&in, encoded)
	in.Refused = in.Refused || !ok
	in.Emulated = in.Emulated && ok
	return in, ok
}

// fill decodes an instruction by its group, bits 25 to 28 (table C4-1).
func fill(in *isa.Instruction, code word) (ok bool) {
	switch group := code.bits(28, 25); {
	case code>>16 == 0: // udf: memory without code is full of it
		in.Kind = isa.Trap
	case group == 0b0010 || group == 0 && code.wide(): // SVE, SME
		opaque(in, code)
	case group&0b1110 == 0b1000:
		return immediate(in, code)
	case group&0b1110 == 0b1010:
		return branches(in, code)
	case group&0b0101 == 0b0100:
		memory(in, code)
	case group&0b0111 == 0b0101:
		return arithmetic(in, code)
	case group&0b0111 == 0b0111:
		vector(in, code)
	default:
		return false
	}
	return true
}

// opaque fills in an unknown instruction, which may write any register and any memory. Of the unknown instructions only
// addvl and addpl write the stack pointer.
func opaque(in *isa.Instruction, code word) {
	in.Kind, in.Frame = isa.Other, isa.FrameLost
	if addsVectors := code.is(0xff20f000, 0x04205000); addsVectors && code.bits(4, 0) == 31 { // addvl, addpl
		in.Stack = isa.StackLost
	}
}

// writes marks an instruction as plain, with general register n as the only one that it writes (31: none).
func writes(in *isa.Instruction, n uint32) {
	in.Plain, in.Writes = true, general(n)
	if in.Writes == framePointer {
		in.Frame = isa.FrameLost
	}
}

// writesOrStack does what writes does, but number 31 is the stack pointer, with unknown contents afterwards.
func writesOrStack(in *isa.Instruction, n uint32) {
	if writes(in, n); n == 31 {
		in.Writes, in.Stack = stackPointer, isa.StackLost
	}
}

// also adds general register n to the registers that an instruction writes (31: none).
func also(in *isa.Instruction, n uint32) {
	in.Also |= general(n).Set()
	if general(n) == framePointer {
		in.Frame = isa.FrameLost
	}
}

// computes fills in an instruction that computes a value from the registers in from, and writes it to the register in
// bits 0 to 4.
func computes(in *isa.Instruction, code word, from ...uint32) {
	writes(in, code.bits(4, 0))
	in.Flags = isa.FlagsKept
	in.Operands[0] = register(code.bits(4, 0), code.width())
	for i, n := range from {
		in.Operands[i+1] = register(n, code.width())
	}
}
