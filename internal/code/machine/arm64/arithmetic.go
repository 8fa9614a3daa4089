package arm64

import (
	"math/bits"

	"ipytracer/internal/code/isa"
)

// immediate decodes data processing with a constant (section C4.1.84).
func immediate(in *isa.Instruction, code word) (ok bool) {
	to, from := code.bits(4, 0), code.bits(9, 5)
	switch code.bits(25, 23) {
	case 0b000, 0b001:
		pageOrPlace(in, code)
	case 0b010:
		addConstant(in, code)
	case 0b011: // arithmetic on tagged addresses; minimum and maximum
		writesOrStack(in, to)
		in.Operands[0], in.Operands[1] = registerOrStack(to, isa.Word), registerOrStack(from, isa.Word)
	case 0b100:
		logicalConstant(in, code)
	case 0b101:
		return moveConstant(in, code)
	case 0b110:
		computes(in, code, from)
		if code.bits(30, 29) == 0b01 { // bfm keeps a part of the register that it writes
			in.Operands[2] = in.Operands[0]
		}
	case 0b111:
		computes(in, code, from, code.bits(20, 16))
		if to == 31 && code.bits(30, 29) == 0b11 { // autiasppc
			in.Writes = linkRegister
		}
	}
	return true
}

// pageOrPlace decodes adrp or adr.
func pageOrPlace(in *isa.Instruction, code word) {
	computes(in, code)
	in.Kind = isa.Address
	distance := code.signed(23, 5)<<2 | int64(code.bits(30, 29))
	to := in.Addr + uint64(distance)
	if code.wide() {
		to = in.Addr&^0xfff + uint64(distance)<<12
	}
	in.Operands[0], in.Operands[1] = register(code.bits(4, 0), isa.Word), at(to, 0)
}

// addConstant decodes add or sub of a constant. Comparisons with a constant and some moves are such instructions.
func addConstant(in *isa.Instruction, code word) {
	to, from, n := code.bits(4, 0), code.bits(9, 5), int64(code.bits(21, 10))
	if code.bits(22, 22) == 1 {
		n <<= 12
	}
	subtracts, setsFlags := code.bits(30, 30) == 1, code.bits(29, 29) == 1
	if setsFlags {
		with := constant(n)
		if !subtracts {
			with = constant(-n)
		}
		if !subtracts && n == 0 { // the carry differs from a comparison's with zero
			with = isa.Operand{Kind: isa.Elsewhere}
		}
		compares(in, code, registerOrStack(from, code.width()), with)
		return
	}
	if subtracts {
		n = -n
	}
	writes(in, to)
	in.Flags = isa.FlagsKept
	in.Operands[0], in.Operands[1] = registerOrStack(to, code.width()), registerOrStack(from, code.width())
	switch {
	case !code.wide():
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

// movesStack fills in an instruction that sets the stack pointer to a register plus a constant.
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

// setsFrame fills in the effect on the frame pointer of an instruction that sets a register to another plus a constant.
// It does nothing unless the registers are the frame pointer and the stack pointer.
func setsFrame(in *isa.Instruction, to, from uint32, n int64) {
	if general(to) == framePointer && from == 31 {
		in.Frame, in.FrameBy = isa.FrameSet, n
	}
}

// compares fills in a subtraction that sets the flags. It is a comparison if its result is not kept (register 31).
func compares(in *isa.Instruction, code word, x, y isa.Operand) {
	if to := code.bits(4, 0); to != 31 {
		writes(in, to)
		in.Operands = [4]isa.Operand{register(to, code.width()), x, y}
		return
	}
	in.Kind, in.Plain, in.Flags = isa.Compare, true, isa.FlagsSet
	in.Operands[0], in.Operands[1] = x, y
}

// tests fills in a bitwise and that sets the flags. It is a test if its result is not kept (register 31).
func tests(in *isa.Instruction, w word, x, y isa.Operand) {
	compares(in, w, x, y)
	if in.Kind == isa.Compare {
		in.Kind = isa.Test
	}
}

// logicalConstant decodes and, orr, eor or ands with a constant.
func logicalConstant(in *isa.Instruction, code word) {
	to, from := code.bits(4, 0), code.bits(9, 5)
	n, known := code.mask()
	switch code.bits(30, 29) {
	case 0b11:
		tests(in, code, register(from, code.width()), constant(n))
		return
	case 0b01:
		if from == 31 && to != 31 && known {
			writes(in, to)
			in.Kind, in.Flags = isa.Move, isa.FlagsKept
			in.Operands[0], in.Operands[1] = register(to, code.width()), constant(n)
			return
		}
	}
	writesOrStack(in, to)
	in.Flags = isa.FlagsKept
	in.Operands[0], in.Operands[1] = registerOrStack(to, code.width()), register(from, code.width())
}

// mask returns the constant of a logical instruction (the manual's DecodeBitMasks). ok is false if the encoding is
// reserved.
func (w word) mask() (n int64, ok bool) {
	ones, rotation := w.bits(15, 10), int(w.bits(21, 16))
	length := bits.Len32(w.bits(22, 22)<<6|^ones&0x3f) - 1
	if length < 1 || w.bits(22, 22) == 1 && !w.wide() {
		return 0, false
	}
	element := 1 << length
	ones &= uint32(element - 1)
	if int(ones) == element-1 {
		return 0, false
	}
	pattern, elementMask := uint64(1)<<(ones+1)-1, ^uint64(0)>>(64-element)
	rotation &= element - 1
	pattern = (pattern>>rotation | pattern<<(element-rotation)) & elementMask
	for ; element < 64; element *= 2 {
		pattern |= pattern << element
	}
	if !w.wide() {
		pattern &= 1<<32 - 1
	}
	return int64(pattern), true
}

// moveConstant decodes movn, movz or movk.
func moveConstant(in *isa.Instruction, code word) (ok bool) {
	shift := 16 * code.bits(22, 21)
	if !code.wide() && shift > 16 {
		return false
	}
	computes(in, code)
	in.Kind, in.Operands[1] = isa.Move, constant(int64(code.bits(20, 5))<<shift)
	switch code.bits(30, 29) {
	case 0b00:
		n := ^in.Operands[1].Value
		if !code.wide() {
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
func arithmetic(in *isa.Instruction, code word) (ok bool) {
	from, other := code.bits(9, 5), code.bits(20, 16)
	if code.bits(28, 28) == 0 {
		switch {
		case code.bits(24, 24) == 0:
			logical(in, code)
		case code.bits(21, 21) == 0:
			addShifted(in, code)
		default:
			addExtended(in, code)
		}
		return true
	}
	switch group := code.bits(24, 21); {
	case group == 0b0000: // adc and sbc; rmif and setf; addpt and subpt
		addWithCarry(in, code)
	case group == 0b0010:
		compareIf(in, code)
	case group == 0b0100: // csel and its like
		computes(in, code, from, other)
	case group == 0b0110:
		oneOrTwo(in, code)
	case group >= 0b1000:
		multiply(in, code)
	default:
		return false
	}
	return true
}

// addWithCarry decodes additions with carry, instructions on the flags (rmif, setf), and additions to checked pointers.
func addWithCarry(in *isa.Instruction, code word) {
	computes(in, code, code.bits(9, 5), code.bits(20, 16))
	if code.bits(15, 13) == 0b001 { // addpt, subpt
		writesOrStack(in, code.bits(4, 0))
	}
	setsFlags := code.bits(29, 29) == 1
	if setsFlags {
		in.Flags = isa.FlagsLost
	}
	if setsFlags && code.bits(15, 10) != 0 { // rmif, setf: the last five bits are no register
		in.Writes, in.Frame, in.Operands[0] = isa.None, isa.FrameKept, isa.Operand{}
	}
}

// compareIf decodes ccmp or ccmn: a comparison if a condition holds, else a setting of the flags to a constant.
func compareIf(in *isa.Instruction, code word) {
	in.Kind, in.Plain, in.Flags, in.Relation = isa.CompareIf, true, isa.FlagsSet, relations[code.bits(15, 12)]
	in.Operands[0], in.Operands[1] = register(code.bits(9, 5), code.width()), register(code.bits(20, 16), code.width())
	subtracts, n := code.bits(30, 30) == 1, int64(code.bits(20, 16))
	switch {
	case code.bits(11, 11) == 1 && subtracts:
		in.Operands[1] = constant(n)
	case code.bits(11, 11) == 1 && n > 0:
		in.Operands[1] = constant(-n)
	case !subtracts: // the carry differs from a comparison's
		in.Operands[1] = isa.Operand{Kind: isa.Elsewhere}
	}
	zero, carry := code.bits(2, 2) == 1, code.bits(1, 1) == 1
	in.Else.Add(isa.Equal, zero)
	in.Else.Add(isa.NotEqual, !zero)
	in.Else.Add(isa.AboveOrEqual, carry)
	in.Else.Add(isa.Below, !carry)
	in.Else.Add(isa.Above, carry && !zero)
	in.Else.Add(isa.BelowOrEqual, !carry || zero)
}

// oneOrTwo decodes instructions with one or two source registers, such as divisions, shifts and signatures of pointers.
func oneOrTwo(in *isa.Instruction, code word) {
	if code.bits(30, 30) == 1 {
		computes(in, code, code.bits(9, 5))
		return
	}
	computes(in, code, code.bits(9, 5), code.bits(20, 16))
	switch {
	case code.bits(29, 29) == 1: // subps
		in.Flags = isa.FlagsLost
	case code.bits(15, 10) == 0b000100: // irg
		writesOrStack(in, code.bits(4, 0))
	}
}

// multiply decodes instructions with three source registers: a product that is added to a third register. mul adds
// register 31, which is zero.
func multiply(in *isa.Instruction, code word) {
	x, y, addend := code.bits(9, 5), code.bits(20, 16), code.bits(14, 10)
	computes(in, code, x, y, addend)
	if code.bits(23, 21) == 0 && code.bits(15, 15) == 0 && addend == 31 {
		in.Kind, in.Operands[3] = isa.Multiply, isa.Operand{}
	}
}

// logical decodes a bitwise operation on two registers. The second one may be shifted or inverted.
func logical(in *isa.Instruction, code word) {
	from, other := code.bits(9, 5), code.bits(20, 16)
	shifted := code.bits(15, 10) != 0 || code.bits(21, 21) == 1
	second := register(other, code.width())
	if shifted {
		second = isa.Operand{Kind: isa.Elsewhere}
	}
	switch op := code.bits(30, 29); {
	case op == 0b11:
		tests(in, code, register(from, code.width()), second)
	case op == 0b01 && from == 31 && !shifted && other == 31 && code.bits(4, 0) != 31:
		computes(in, code)
		in.Kind = isa.Clear
	case op == 0b01 && from == 31 && !shifted:
		computes(in, code, other)
		in.Kind = isa.Move
	default:
		computes(in, code, from, other)
	}
}

// addShifted decodes add or sub of two registers. The second one may be shifted.
func addShifted(in *isa.Instruction, code word) {
	from, other := code.bits(9, 5), code.bits(20, 16)
	if code.bits(29, 29) == 0 {
		computes(in, code, from, other)
		return
	}
	second := register(other, code.width())
	if code.bits(15, 10) != 0 || code.bits(30, 30) == 0 {
		second = isa.Operand{Kind: isa.Elsewhere}
	}
	compares(in, code, register(from, code.width()), second)
}

// addExtended decodes add or sub of two registers. The first one may be the stack pointer.
func addExtended(in *isa.Instruction, code word) {
	from, other := code.bits(9, 5), code.bits(20, 16)
	if code.bits(29, 29) == 1 {
		compares(in, code, registerOrStack(from, code.width()), isa.Operand{Kind: isa.Elsewhere})
		return
	}
	writesOrStack(in, code.bits(4, 0))
	in.Flags = isa.FlagsKept
	in.Operands[0] = registerOrStack(code.bits(4, 0), code.width())
	in.Operands[1], in.Operands[2] = registerOrStack(from, code.width()), register(other, code.width())
}
