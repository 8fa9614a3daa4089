package arm64

import "ipytracer/internal/code/isa"

// branches decodes branches, exceptions and system instructions (section C4.1.86).
func branches(in *isa.Instruction, code word) (ok bool) {
	switch {
	case code.is(0x7c000000, 0x14000000): // b, bl
		in.Kind = isa.Jump
		if code.wide() {
			in.Kind = isa.Call
		}
		in.Operands[0] = codeAt(in.Addr, code.signed(25, 0)*size)
	case code.is(0x7e000000, 0x34000000): // cbz, cbnz
		in.Kind, in.Flags, in.Relation = isa.Branch, isa.FlagsKept, isa.Equal
		if code.bits(24, 24) == 1 {
			in.Relation = isa.NotEqual
		}
		in.Operands[0] = codeAt(in.Addr, code.signed(23, 5)*size)
		in.Operands[1], in.Operands[2] = register(code.bits(4, 0), code.width()), constant(0)
	case code.is(0x7e000000, 0x36000000): // tbz, tbnz
		in.Kind, in.Flags = isa.Branch, isa.FlagsKept
		in.Operands[0] = codeAt(in.Addr, code.signed(18, 5)*size)
		in.Operands[1] = register(code.bits(4, 0), isa.Word)
	case code.is(0xff000000, 0x54000000): // b.cond, bc.cond
		in.Kind, in.Flags, in.Relation = isa.Branch, isa.FlagsKept, relations[code.bits(3, 0)]
		if code.bits(3, 1) == 0b111 {
			in.Kind = isa.Jump
		}
		in.Operands[0] = codeAt(in.Addr, code.signed(23, 5)*size)
	case code.is(0xfe000000, 0xd6000000):
		return throughRegister(in, code)
	case code.is(0xff000000, 0xd5000000):
		system(in, code)
	case code.is(0xff000000, 0xd4000000):
		return exception(in, code)
	case code.is(0xff80001f, 0x5500001f): // retaasppc, retabsppc
		in.Kind = isa.Return
	default:
		return false
	}
	return true
}

// relations are the relations of unsigned values that conditions test for, by the condition's number (table C1-1).
var relations = [16]isa.Relation{
	0: isa.Equal, 1: isa.NotEqual, 2: isa.AboveOrEqual, 3: isa.Below, 8: isa.Above, 9: isa.BelowOrEqual,
}

// throughRegister decodes a branch through a register, with or without authentication of the pointer.
func throughRegister(in *isa.Instruction, code word) (ok bool) {
	if code.bits(20, 16) != 31 || code.bits(15, 12) != 0 {
		return false
	}
	in.Operands[0] = registerOrStack(code.bits(9, 5), isa.Word)
	switch code.bits(24, 21) {
	case 0b0000, 0b1000: // br, braaz, braa
		in.Kind = isa.Jump
	case 0b0001, 0b1001: // blr, blraaz, blraa
		in.Kind = isa.Call
	case 0b0010: // ret, retaa, retaasppcr
		in.Kind = isa.Return
		if code.bits(11, 10) == 0 && code.bits(9, 5) != uint32(linkRegister.Number()) {
			in.Kind = isa.Jump // a ret through another register may go anywhere
			return true
		}
		in.Operands[0] = isa.Operand{}
	default:
		return false
	}
	return true
}

// exception decodes an instruction that raises an exception.
func exception(in *isa.Instruction, code word) (ok bool) {
	switch {
	case code.is(0xffe0001f, 0xd4000001):
		in.Kind = isa.SystemCall
	case code.is(0xffe0001f, 0xd4200000), code.is(0xffe0001f, 0xd4400000): // brk, hlt
		in.Kind = isa.Trap
	default:
		return false
	}
	return true
}

// system decodes hints, barriers, and instructions on system registers.
func system(in *isa.Instruction, code word) {
	switch {
	case code.is(0xfffff01f, 0xd503201f):
		hint(in, code.bits(11, 5))
	case code.is(0xfff00000, 0xd5300000), code.is(0xfff80000, 0xd5280000): // mrs, sysl
		writes(in, code.bits(4, 0))
		in.Flags = isa.FlagsKept
	case code.is(0xfff80000, 0xd5080000) && code.bits(4, 0) != 31: // operations on caches, which may clear memory
		in.Plain, in.Flags, in.Operands[0] = true, isa.FlagsKept, inMemory(code.bits(4, 0), 0, 0)
	case code.is(0xffe00000, 0xd5400000), code.is(0xffe00000, 0xd5600000): // of pairs of registers: not plain
	case code.is(0xffffffe0, 0xd51b4200): // msr of the flags
		in.Plain = true
	default:
		in.Plain, in.Flags = true, isa.FlagsKept
	}
}

// hint decodes hint n: a mark of an entry, an operation on the signature of an address, or a hint without effect.
func hint(in *isa.Instruction, n uint32) {
	in.Plain, in.Flags = true, isa.FlagsKept
	switch n {
	case 7, 24, 25, 26, 27, 28, 29, 30, 31: // xpaclri; pac and aut of the link register
		in.Writes = linkRegister
	case 8, 10, 12, 14: // pacia1716 and its like
		in.Writes = x17
	case 39: // pacm
		in.Writes = linkRegister
	case 40: // chkfeat
		in.Writes = x16
	case 32, 34, 36, 38: // bti
		in.Kind, in.MarksEntry = isa.Nop, true
	default:
		in.Kind = isa.Nop
	}
}
