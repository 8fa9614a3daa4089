package x86

import (
	"golang.org/x/arch/x86/x86asm"

	"ipytracer/internal/code/isa"
)

// decode implements the field Decode of [isa.Architecture].
func decode(code []byte, addr uint64) (in isa.Instruction, ok bool) {
	code = code[:min(len(code), isa.MaxLength)]
	in.Addr = addr
	if len(code) >= 4 && code[0] == 0xf3 && code[1] == 0x0f && code[2] == 0x1e && code[3] == 0xfa { // endbr64
		in.Len, in.Kind, in.MarksEntry, in.Plain, in.Flags = 4, isa.Nop, true, true, isa.FlagsKept
		return in, true
	}
	inst, err := x86asm.Decode(code, 64)
	if err != nil || inst.Len == 0 || inst.Len > len(code) {
		return in, false
	}
	in.Len, in.Emulated = inst.Len, emulated(code[:inst.Len])
	in.Refused = string(code[:inst.Len]) == callable
	in.Operands = operands(&inst, in.End())
	in.Kind = kind(inst.Op)
	in.Plain = plain(inst.Op)
	if r, ok := inst.Args[0].(x86asm.Reg); ok && in.Plain && writes(in.Kind) {
		in.Writes = family(r)
	}
	in.Flags = flags(in.Kind)
	setPointerEffects(&in, &inst)
	setDetails(&in, &inst)
	return in, true
}

// callable is the no-op of five bytes that Linux 6.18 to 7.2 turns into a call under a uprobe (arch_uprobe_optimize,
// arch/x86/kernel/uprobes.c). The call writes its return address below the stack pointer, where a function that calls
// nothing may have its variables. So it takes no probe, on any Linux.
const callable = "\x0f\x1f\x44\x00\x00"

// setDetails fills in the fields that only some kinds have.
func setDetails(in *isa.Instruction, inst *x86asm.Inst) {
	switch in.Kind {
	case isa.Branch:
		in.Relation = relations[inst.Op]
		in.Condition, in.HasCondition = condition(inst.Op)
		if inst.Op == x86asm.LOOP || inst.Op == x86asm.LOOPE || inst.Op == x86asm.LOOPNE {
			in.Loses = rcx
		}
	case isa.SetByte:
		in.Relation = relations[inst.Op]
	case isa.Convert:
		in.Makes = rdx
		if inst.Op == x86asm.CDQE {
			in.Makes = rax
		}
	case isa.Multiply:
		if inst.Op == x86asm.MUL || inst.Args[1] == nil {
			in.Makes, in.Loses = rdx, rax
			in.Operands = [4]isa.Operand{in.Operands[0]}
		}
	case isa.Other:
		if inst.Op == x86asm.XOR && in.Operands[0].Fills() && in.Operands[0] == in.Operands[1] {
			in.Kind = isa.Clear
		}
	}
}

// operands translates the operands of an instruction. end is the address of the next instruction.
func operands(inst *x86asm.Inst, end uint64) (operands [4]isa.Operand) {
	for i, arg := range inst.Args[:len(operands)] {
		switch a := arg.(type) {
		case x86asm.Reg:
			operands[i] = register(a)
		case x86asm.Mem:
			operands[i] = memory(inst, a, end)
		case x86asm.Imm:
			operands[i] = isa.Operand{Kind: isa.Constant, Value: int64(a)}
		case x86asm.Rel:
			operands[i] = isa.Operand{Kind: isa.Code, Value: int64(end) + int64(a)}
		}
	}
	return operands
}

func register(r x86asm.Reg) isa.Operand {
	whole := family(r)
	if whole == isa.None {
		return isa.Operand{Kind: isa.Elsewhere, Value: int64(r)}
	}
	return isa.Operand{Kind: isa.InRegister, Base: whole, Width: width(r), Apart: r >= x86asm.AH && r <= x86asm.BH}
}

// memory translates an operand in memory. The decoder does not sign-extend a displacement of four bytes, so memory does
// (Intel SDM, volume 2A, table 2-1; volume 1, section 3.7.5). For displacements of one byte the decoder has done it.
func memory(inst *x86asm.Inst, m x86asm.Mem, end uint64) isa.Operand {
	wideDisplacement := inst.Op == x86asm.MOV && inst.Opcode>>26 == 0xa0>>2 // mov between rax and an 8-byte address
	if !wideDisplacement {
		m.Disp = int64(int32(m.Disp))
	}
	o := isa.Operand{
		Kind: isa.InMemory, Base: family(m.Base), Index: family(m.Index), Width: uint16(inst.MemBytes), Value: m.Disp,
	}
	vectorIndex := m.Index != 0 && o.Index == isa.None // several indices, in a vector register
	o.Apart = m.Segment != 0 || vectorIndex
	if m.Base == x86asm.RIP {
		o.Kind, o.Value = isa.AtAddress, int64(end)+m.Disp
	}
	return o
}

// setPointerEffects fills in the effects on the stack pointer and on the frame pointer.
func setPointerEffects(in *isa.Instruction, inst *x86asm.Inst) {
	switch inst.Op {
	case x86asm.PUSH, x86asm.PUSHFQ:
		in.Stack, in.By = isa.StackMoves, isa.Word
		return
	case x86asm.POP, x86asm.POPFQ:
		in.Stack, in.By = isa.StackMoves, -isa.Word
	case x86asm.LEAVE:
		in.Stack, in.By = isa.StackLeave, isa.Word
		return
	case x86asm.RET, x86asm.CALL, x86asm.CMP, x86asm.TEST:
		return
	}
	switch inst.Args[0] {
	case x86asm.RSP, x86asm.ESP:
		in.Stack, in.By = stackPointer(inst)
	case x86asm.RBP, x86asm.EBP:
		in.Frame = isa.FrameLost
		if inst.Op == x86asm.MOV && inst.Args[1] == x86asm.RSP {
			in.Frame = isa.FrameSet
		}
	}
}

// stackPointer returns the effect of an instruction whose first operand is the stack pointer.
func stackPointer(inst *x86asm.Inst) (effect isa.StackEffect, by int64) {
	switch inst.Op {
	case x86asm.SUB, x86asm.ADD:
		if imm, ok := inst.Args[1].(x86asm.Imm); ok {
			if inst.Op == x86asm.ADD {
				imm = -imm
			}
			return isa.StackMoves, int64(imm)
		}
	case x86asm.LEA:
		m, ok := inst.Args[1].(x86asm.Mem)
		switch disp := int64(int32(m.Disp)); {
		case ok && m.Index == 0 && m.Base == x86asm.RSP:
			return isa.StackMoves, -disp
		case ok && m.Index == 0 && m.Base == x86asm.RBP:
			return isa.StackFrame, disp
		}
	case x86asm.MOV:
		if inst.Args[1] == x86asm.RBP {
			return isa.StackFrame, 0
		}
	}
	return isa.StackLost, 0
}

// emulated reports whether the kernel carries out the instruction under a uprobe itself instead of stepping the
// thread over a copy: about 0.6 µs instead of 10. Source: arch/x86/kernel/uprobes.c, push_setup_xol_ops and
// branch_setup_xol_ops: push of a register (with no prefix but REX.B), one-byte nop, direct jmp, jcc, call.
// Longer nops do not count: kernels emulate them only since x86_nops came into branch_setup_xol_ops, in April 2025.
func emulated(b []byte) bool {
	switch {
	case len(b) == 1 && (b[0] >= 0x50 && b[0] <= 0x57 || b[0] == 0x90):
		return true
	case len(b) == 2 && (b[0] == 0x41 && b[1] >= 0x50 && b[1] <= 0x57):
		return true
	case len(b) == 2 && (b[0] == 0xeb || b[0] >= 0x70 && b[0] <= 0x7f):
		return true
	case len(b) == 5 && (b[0] == 0xe8 || b[0] == 0xe9):
		return true
	}
	return len(b) == 6 && b[0] == 0x0f && b[1] >= 0x80 && b[1] <= 0x8f
}
