package arm64

import (
	"math/bits"

	"ipytracer/internal/code/isa"
)

// immediate decodes data processing with a constant (section C4.1.84).
func immediate(in *isa.Instruction, w word) (ok bool) {
	to, from := w.bits(4, 0), w.bits(9, 5)
	switch w.bits(25, 23) {
	case 0b000, 0b001:
		pageOrPlace(in, w)
	case 0b010:
		addConstant(in, w)
	case 0b011: // of addresses with tags; the least and the greatest
		writesOrStack(in, to)
		in.Operands[0], in.Operands[1] = registerOrStack(to, isa.Word), registerOrStack(from, isa.Word)
	case 0b100:
		logicalConstant(in, w)
	case 0b101:
		return moveConstant(in, w)
	case 0b110:
		if computes(in, w, from); w.bits(30, 29) == 0b01 { // bfm keeps a part
			in.Operands[2] = in.Operands[0]
		}
	case 0b111:
		if computes(in, w, from, w.bits(20, 16)); to == 31 && w.bits(30, 29) == 0b11 { // autiasppc
			in.Writes = linkRegister
		}
	}
	return true
}

// pageOrPlace is adrp or adr.
func pageOrPlace(in *isa.Instruction, w word) {
	computes(in, w)
	in.Kind = isa.Address
	distance := w.signed(23, 5)<<2 | int64(w.bits(30, 29))
	to := in.Addr + uint64(distance)
	if w.wide() {
		to = in.Addr&^0xfff + uint64(distance)<<12
	}
	in.Operands[0], in.Operands[1] = register(w.bits(4, 0), isa.Word), at(to, 0)
}

// addConstant is add or sub of a constant, with the comparisons and the moves that are made of these.
func addConstant(in *isa.Instruction, w word) {
	to, from, n := w.bits(4, 0), w.bits(9, 5), int64(w.bits(21, 10))
	if w.bits(22, 22) == 1 {
		n <<= 12
	}
	subtracts, setsFlags := w.bits(30, 30) == 1, w.bits(29, 29) == 1
	if setsFlags {
		with := constant(n)
		if !subtracts {
			with = constant(-n)
		}
		if !subtracts && n == 0 { // the carry is another than that of a comparison with zero
			with = isa.Operand{Kind: isa.Elsewhere}
		}
		compares(in, w, registerOrStack(from, w.width()), with)
		return
	}
	if subtracts {
		n = -n
	}
	writes(in, to)
	in.Flags = isa.FlagsKept
	in.Operands[0], in.Operands[1] = registerOrStack(to, w.width()), registerOrStack(from, w.width())
	switch {
	case !w.wide():
		if to == 31 {
			in.Writes, in.Stack = stackPointer, isa.StackLost
		}
	case to == 31:
		movesStack(in, from, n)
	case n == 0 && from == 31: // mov from the stack pointer
		in.Kind = isa.Move
		setsFrame(in, to, from, n)
	default:
		in.Kind, in.Operands[1] = isa.Address, inMemory(from, n, 0)
		setsFrame(in, to, from, n)
	}
}

// movesStack sets the stack pointer to a register and a constant.
func movesStack(in *isa.Instruction, from uint32, n int64) {
	in.Writes = stackPointer
	switch isa.Numbered(int(from)) {
	case stackPointer:
		in.Stack, in.By = isa.StackMoves, -n
	case framePointer:
		in.Stack, in.By = isa.StackFrame, n
	default:
		in.Stack = isa.StackLost
		return
	}
	in.Operands[1] = constant(n)
}

// setsFrame sets the frame pointer to the stack pointer and a constant, if these are the registers.
func setsFrame(in *isa.Instruction, to, from uint32, n int64) {
	if general(to) == framePointer && from == 31 {
		in.Frame, in.FrameBy = isa.FrameSet, n
	}
}

// compares is a comparison, where the result of a subtraction is not kept.
func compares(in *isa.Instruction, w word, one, other isa.Operand) {
	if to := w.bits(4, 0); to != 31 {
		writes(in, to)
		in.Operands = [4]isa.Operand{register(to, w.width()), one, other}
		return
	}
	in.Kind, in.Plain, in.Flags = isa.Compare, true, isa.FlagsSet
	in.Operands[0], in.Operands[1] = one, other
}

// tests is a test of bits, where the result of an and is not kept.
func tests(in *isa.Instruction, w word, one, other isa.Operand) {
	if compares(in, w, one, other); in.Kind == isa.Compare {
		in.Kind = isa.Test
	}
}

// logicalConstant is and, orr, eor or ands with a constant.
func logicalConstant(in *isa.Instruction, w word) {
	to, from := w.bits(4, 0), w.bits(9, 5)
	n, known := w.mask()
	switch w.bits(30, 29) {
	case 0b11:
		tests(in, w, register(from, w.width()), constant(n))
		return
	case 0b01:
		if from == 31 && to != 31 && known {
			writes(in, to)
			in.Kind, in.Flags = isa.Move, isa.FlagsKept
			in.Operands[0], in.Operands[1] = register(to, w.width()), constant(n)
			return
		}
	}
	writesOrStack(in, to)
	in.Flags = isa.FlagsKept
	in.Operands[0], in.Operands[1] = registerOrStack(to, w.width()), register(from, w.width())
}

// mask returns the constant of a logical instruction (DecodeBitMasks).
func (w word) mask() (n int64, ok bool) {
	ones, turned := w.bits(15, 10), int(w.bits(21, 16))
	length := bits.Len32(w.bits(22, 22)<<6|^ones&0x3f) - 1
	if length < 1 || w.bits(22, 22) == 1 && !w.wide() {
		return 0, false
	}
	element := 1 << length
	ones &= uint32(element - 1)
	if int(ones) == element-1 {
		return 0, false
	}
	pattern, all := uint64(1)<<(ones+1)-1, ^uint64(0)>>(64-element)
	turned &= element - 1
	pattern = (pattern>>turned | pattern<<(element-turned)) & all
	for ; element < 64; element *= 2 {
		pattern |= pattern << element
	}
	if !w.wide() {
		pattern &= 1<<32 - 1
	}
	return int64(pattern), true
}

// moveConstant is movn, movz or movk.
func moveConstant(in *isa.Instruction, w word) (ok bool) {
	shift := 16 * w.bits(22, 21)
	if !w.wide() && shift > 16 {
		return false
	}
	computes(in, w)
	in.Kind, in.Operands[1] = isa.Move, constant(int64(w.bits(20, 5))<<shift)
	switch w.bits(30, 29) {
	case 0b00:
		n := ^in.Operands[1].Value
		if !w.wide() {
			n = int64(uint32(n))
		}
		in.Operands[1] = constant(n)
	case 0b01:
		return false
	case 0b11:
		in.Kind, in.Operands[2] = isa.Insert, constant(0xffff<<shift)
	}
	return true
}

// arithmetic decodes data processing on registers (section C4.1.89).
func arithmetic(in *isa.Instruction, w word) (ok bool) {
	from, other := w.bits(9, 5), w.bits(20, 16)
	if w.bits(28, 28) == 0 {
		switch {
		case w.bits(24, 24) == 0:
			logical(in, w)
		case w.bits(21, 21) == 0:
			addShifted(in, w)
		default:
			addExtended(in, w)
		}
		return true
	}
	switch group := w.bits(24, 21); {
	case group == 0b0000: // with carry; rmif and setf; of checked pointers
		if computes(in, w, from, other); w.bits(15, 13) == 0b001 {
			writesOrStack(in, w.bits(4, 0))
		}
		if w.bits(29, 29) == 1 {
			in.Flags = isa.FlagsLost
		}
		if w.bits(15, 10) != 0 && w.bits(29, 29) == 1 { // the last five bits are no register
			in.Writes, in.Frame, in.Operands[0] = isa.None, isa.FrameKept, isa.Operand{}
		}
	case group == 0b0010:
		compareIf(in, w)
	case group == 0b0100: // csel and its like
		computes(in, w, from, other)
	case group == 0b0110:
		oneOrTwo(in, w)
	case group >= 0b1000:
		multiply(in, w)
	default:
		return false
	}
	return true
}

// compareIf is ccmp or ccmn: a comparison if a condition holds, and else flags from the instruction.
func compareIf(in *isa.Instruction, w word) {
	in.Kind, in.Plain, in.Flags, in.Relation = isa.CompareIf, true, isa.FlagsSet, relations[w.bits(15, 12)]
	in.Operands[0], in.Operands[1] = register(w.bits(9, 5), w.width()), register(w.bits(20, 16), w.width())
	subtracts, n := w.bits(30, 30) == 1, int64(w.bits(20, 16))
	switch {
	case w.bits(11, 11) == 1 && subtracts:
		in.Operands[1] = constant(n)
	case w.bits(11, 11) == 1 && n > 0:
		in.Operands[1] = constant(-n)
	case !subtracts: // the carry is another than that of a comparison
		in.Operands[1] = isa.Operand{Kind: isa.Elsewhere}
	}
	zero, carry := w.bits(2, 2) == 1, w.bits(1, 1) == 1
	in.Else.Add(isa.Equal, zero)
	in.Else.Add(isa.NotEqual, !zero)
	in.Else.Add(isa.AboveOrEqual, carry)
	in.Else.Add(isa.Below, !carry)
	in.Else.Add(isa.Above, carry && !zero)
	in.Else.Add(isa.BelowOrEqual, !carry || zero)
}

// oneOrTwo are instructions with one or two sources, such as divisions, shifts and signatures of pointers.
func oneOrTwo(in *isa.Instruction, w word) {
	if w.bits(30, 30) == 1 {
		computes(in, w, w.bits(9, 5))
		return
	}
	computes(in, w, w.bits(9, 5), w.bits(20, 16))
	switch {
	case w.bits(29, 29) == 1: // subps
		in.Flags = isa.FlagsLost
	case w.bits(15, 10) == 0b000100: // irg
		writesOrStack(in, w.bits(4, 0))
	}
}

// multiply are instructions with three sources: a product, of which mul adds nothing.
func multiply(in *isa.Instruction, w word) {
	one, other, sum := w.bits(9, 5), w.bits(20, 16), w.bits(14, 10)
	computes(in, w, one, other, sum)
	if w.bits(23, 21) == 0 && w.bits(15, 15) == 0 && sum == 31 {
		in.Kind, in.Operands[3] = isa.Multiply, isa.Operand{}
	}
}

// logical is a bitwise operation on two registers, one of them shifted and perhaps inverted.
func logical(in *isa.Instruction, w word) {
	from, other := w.bits(9, 5), w.bits(20, 16)
	shifted := w.bits(15, 10) != 0 || w.bits(21, 21) == 1
	second := register(other, w.width())
	if shifted {
		second = isa.Operand{Kind: isa.Elsewhere}
	}
	switch op := w.bits(30, 29); {
	case op == 0b11:
		tests(in, w, register(from, w.width()), second)
	case op == 0b01 && from == 31 && !shifted && other == 31 && w.bits(4, 0) != 31:
		computes(in, w)
		in.Kind = isa.Clear
	case op == 0b01 && from == 31 && !shifted:
		computes(in, w, other)
		in.Kind = isa.Move
	default:
		computes(in, w, from, other)
	}
}

// addShifted is add or sub of two registers, one of them shifted.
func addShifted(in *isa.Instruction, w word) {
	from, other := w.bits(9, 5), w.bits(20, 16)
	if w.bits(29, 29) == 0 {
		computes(in, w, from, other)
		return
	}
	second := register(other, w.width())
	if w.bits(15, 10) != 0 || w.bits(30, 30) == 0 {
		second = isa.Operand{Kind: isa.Elsewhere}
	}
	compares(in, w, register(from, w.width()), second)
}

// addExtended is add or sub of two registers, of which the first may be the stack pointer.
func addExtended(in *isa.Instruction, w word) {
	from, other := w.bits(9, 5), w.bits(20, 16)
	if w.bits(29, 29) == 1 {
		compares(in, w, registerOrStack(from, w.width()), isa.Operand{Kind: isa.Elsewhere})
		return
	}
	writesOrStack(in, w.bits(4, 0))
	in.Flags = isa.FlagsKept
	in.Operands[0] = registerOrStack(w.bits(4, 0), w.width())
	in.Operands[1], in.Operands[2] = registerOrStack(from, w.width()), register(other, w.width())
}
