package x86

import (
	"golang.org/x/arch/x86/x86asm"

	"ipytracer/internal/code/isa"
)

// kind returns the kind of an operation; [isa.Clear] depends on the operands, too.
func kind(op x86asm.Op) isa.Kind {
	switch op {
	case x86asm.MOV:
		return isa.Move
	case x86asm.LEA:
		return isa.Address
	case x86asm.CALL:
		return isa.Call
	case x86asm.JMP:
		return isa.Jump
	case x86asm.RET:
		return isa.Return
	case x86asm.PUSH:
		return isa.Push
	case x86asm.POP:
		return isa.Pop
	case x86asm.CMP:
		return isa.Compare
	case x86asm.TEST:
		return isa.Test
	case x86asm.BT:
		return isa.TestBit
	case x86asm.NOP:
		return isa.Nop
	case x86asm.OR:
		return isa.Or
	case x86asm.LEAVE:
		return isa.Leave
	case x86asm.SYSCALL:
		return isa.SystemCall
	case x86asm.CQO, x86asm.CDQ, x86asm.CDQE:
		return isa.Convert
	case x86asm.IMUL, x86asm.MUL:
		return isa.Multiply
	case x86asm.XCHG:
		return isa.Exchange
	}
	switch {
	case conditional(op):
		return isa.Branch
	case op >= x86asm.SETA && op <= x86asm.SETS:
		return isa.SetByte
	case traps(op):
		return isa.Trap
	}
	return isa.Other
}

func conditional(op x86asm.Op) bool {
	switch op {
	case x86asm.JA, x86asm.JAE, x86asm.JB, x86asm.JBE, x86asm.JCXZ, x86asm.JE, x86asm.JECXZ, x86asm.JG, x86asm.JGE,
		x86asm.JL, x86asm.JLE, x86asm.JNE, x86asm.JNO, x86asm.JNP, x86asm.JNS, x86asm.JO, x86asm.JP, x86asm.JRCXZ,
		x86asm.JS, x86asm.LOOP, x86asm.LOOPE, x86asm.LOOPNE:
		return true
	}
	return false
}

func traps(op x86asm.Op) bool {
	switch op {
	case x86asm.UD1, x86asm.UD2, x86asm.HLT, x86asm.INT, x86asm.INTO, x86asm.ICEBP:
		return true
	}
	return false
}

// plain reports whether an operation writes no general register besides its first operand, apart from the stack pointer
// in a push or a pop.
func plain(op x86asm.Op) bool {
	switch op {
	case x86asm.CMP, x86asm.TEST, x86asm.PUSH, x86asm.NOP, x86asm.BT,
		x86asm.MOV, x86asm.LEA, x86asm.XOR, x86asm.AND, x86asm.OR, x86asm.ADD, x86asm.SUB, x86asm.POP,
		x86asm.MOVZX, x86asm.MOVSX, x86asm.MOVSXD, x86asm.INC, x86asm.DEC, x86asm.NEG, x86asm.NOT,
		x86asm.SHL, x86asm.SHR, x86asm.SAR, x86asm.MOVAPS, x86asm.MOVUPS, x86asm.MOVAPD, x86asm.MOVDQA,
		x86asm.MOVDQU, x86asm.PXOR, x86asm.XORPS, x86asm.MOVQ, x86asm.MOVD, x86asm.PUNPCKLQDQ,
		x86asm.CMOVA, x86asm.CMOVAE, x86asm.CMOVB, x86asm.CMOVBE, x86asm.CMOVE, x86asm.CMOVNE, x86asm.CMOVS,
		x86asm.CMOVNS, x86asm.CMOVG, x86asm.CMOVGE, x86asm.CMOVL, x86asm.CMOVLE:
		return true
	}
	return false
}

// writes reports whether plain instructions of a kind write their first operand.
func writes(k isa.Kind) bool {
	switch k {
	case isa.Compare, isa.Test, isa.TestBit, isa.Push, isa.Nop:
		return false
	}
	return true
}

// flags returns the effect of instructions of a kind on the flags. It is FlagsLost also for kinds that set the flags to
// something other than the result of a comparison.
func flags(k isa.Kind) isa.Flags {
	switch k {
	case isa.Move, isa.Address, isa.Push, isa.Nop, isa.Pop, isa.SetByte:
		return isa.FlagsKept
	case isa.Compare, isa.Test, isa.Or:
		return isa.FlagsSet
	}
	return isa.FlagsLost
}

// relations are the relations of unsigned values that conditional instructions test for.
var relations = map[x86asm.Op]isa.Relation{
	x86asm.JA: isa.Above, x86asm.JAE: isa.AboveOrEqual, x86asm.JB: isa.Below, x86asm.JBE: isa.BelowOrEqual,
	x86asm.JE: isa.Equal, x86asm.JNE: isa.NotEqual, x86asm.SETA: isa.Above, x86asm.SETAE: isa.AboveOrEqual,
}

// condition returns the condition on which a conditional jump is taken. ok is false if the jump depends on more than
// one flag.
func condition(op x86asm.Op) (taken isa.Condition, ok bool) {
	const carry, parity, zero, sign, overflow = 1 << 0, 1 << 2, 1 << 6, 1 << 7, 1 << 11
	flag, set := uint32(0), true
	switch op {
	case x86asm.JB, x86asm.JAE:
		flag, set = carry, op == x86asm.JB
	case x86asm.JP, x86asm.JNP:
		flag, set = parity, op == x86asm.JP
	case x86asm.JE, x86asm.JNE:
		flag, set = zero, op == x86asm.JE
	case x86asm.JS, x86asm.JNS:
		flag, set = sign, op == x86asm.JS
	case x86asm.JO, x86asm.JNO:
		flag, set = overflow, op == x86asm.JO
	}
	taken = isa.Condition{Mask: flag}
	if set {
		taken.Value = flag
	}
	return taken, flag != 0
}
