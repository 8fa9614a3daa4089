package machine

import (
	"slices"

	"golang.org/x/arch/x86/x86asm"
)

// instruction is one decoded x86-64 instruction at a virtual address.
type instruction struct {
	x86asm.Inst
	addr uint64
	raw  [16]byte // the first Len bytes are the instruction
}

// end is the address of the next instruction.
func (in *instruction) end() uint64 { return in.addr + uint64(in.Len) }

// target returns where a direct jump or call goes.
func (in *instruction) target() (uint64, bool) {
	rel, ok := in.Args[0].(x86asm.Rel)
	return in.end() + uint64(int64(rel)), ok
}

// decode returns the instruction at an address. ok is false outside the executable segments and for bytes
// that are not a known instruction.
func (t *Text) decode(addr uint64) (in instruction, ok bool) {
	if !t.image.Executable(addr) {
		return in, false
	}
	n := copy(in.raw[:], t.from(addr))
	if n < len(in.raw) {
		n += copy(in.raw[n:], t.from(addr+uint64(n)))
	}
	in, ok = decode(in.raw[:n])
	in.addr = addr
	return in, ok
}

// decode returns the instruction that some code begins with; it has no address.
func decode(code []byte) (in instruction, ok bool) {
	code = code[:copy(in.raw[:], code)]
	if len(code) >= 4 && code[0] == 0xf3 && code[1] == 0x0f && code[2] == 0x1e && code[3] == 0xfa {
		in.Inst = x86asm.Inst{Op: x86asm.NOP, Len: 4} // endbr64
		return in, true
	}
	inst, err := x86asm.Decode(code, 64)
	if err != nil || inst.Len == 0 || inst.Len > len(code) {
		return in, false
	}
	in.Inst = inst
	in.signDisplacements()
	return in, true
}

// signDisplacements gives displacements of four bytes their sign, which the decoder leaves out. Those of one byte have it (Intel SDM,
// volume 2A, table 2-1; volume 1, section 3.7.5).
func (in *instruction) signDisplacements() {
	if in.Op == x86asm.MOV && in.Opcode>>26 == 0xa0>>2 {
		return // mov between al, ax, eax or rax and an address of eight bytes: opcodes a0 to a3
	}
	for i, arg := range in.Args {
		if m, ok := arg.(x86asm.Mem); ok {
			m.Disp = int64(int32(m.Disp))
			in.Args[i] = m
		}
	}
}

// Emulated says whether the kernel emulates the instruction that some code begins with, see [Site]. This is the one rule for all probes.
func Emulated(code []byte) bool {
	in, ok := decode(code)
	return ok && in.emulated()
}

// emulated says whether the kernel carries out the instruction under a uprobe itself instead of stepping the
// thread over a copy: about 0.6 µs instead of 10. Source: arch/x86/kernel/uprobes.c, push_setup_xol_ops and
// branch_setup_xol_ops: push of a register (with no prefix but REX.B), one-byte nop, direct jmp, jcc, call.
// Longer nops do not count: kernels emulate them only since x86_nops came into branch_setup_xol_ops, in April 2025.
func (in *instruction) emulated() bool {
	b := in.raw
	switch {
	case in.Len == 1 && (b[0] >= 0x50 && b[0] <= 0x57 || b[0] == 0x90):
		return true
	case in.Len == 2 && (b[0] == 0x41 && b[1] >= 0x50 && b[1] <= 0x57):
		return true
	case in.Len == 2 && (b[0] == 0xeb || b[0] >= 0x70 && b[0] <= 0x7f):
		return true
	case in.Len == 5 && (b[0] == 0xe8 || b[0] == 0xe9):
		return true
	}
	return in.Len == 6 && b[0] == 0x0f && b[1] >= 0x80 && b[1] <= 0x8f
}

func (in *instruction) jumps() bool { return in.Op == x86asm.JMP || in.conditional() }

func (in *instruction) conditional() bool {
	switch in.Op {
	case x86asm.JA, x86asm.JAE, x86asm.JB, x86asm.JBE, x86asm.JCXZ, x86asm.JE, x86asm.JECXZ, x86asm.JG, x86asm.JGE,
		x86asm.JL, x86asm.JLE, x86asm.JNE, x86asm.JNO, x86asm.JNP, x86asm.JNS, x86asm.JO, x86asm.JP, x86asm.JRCXZ, x86asm.JS,
		x86asm.LOOP, x86asm.LOOPE, x86asm.LOOPNE:
		return true
	}
	return false
}

// traps says whether control never comes back from the instruction.
func (in *instruction) traps() bool {
	switch in.Op {
	case x86asm.UD1, x86asm.UD2, x86asm.HLT, x86asm.INT, x86asm.INTO, x86asm.ICEBP:
		return true
	}
	return false
}

// family returns the 64-bit register that holds r, and whether r is a general register.
func family(r x86asm.Reg) (x86asm.Reg, bool) {
	switch {
	case r >= x86asm.AL && r <= x86asm.BL: // AL, CL, DL, BL
		return x86asm.RAX + r - x86asm.AL, true
	case r >= x86asm.AH && r <= x86asm.BH:
		return x86asm.RAX + r - x86asm.AH, true
	case r >= x86asm.SPB && r <= x86asm.R15B:
		return x86asm.RSP + r - x86asm.SPB, true
	case r >= x86asm.AX && r <= x86asm.R15W:
		return x86asm.RAX + r - x86asm.AX, true
	case r >= x86asm.EAX && r <= x86asm.R15L:
		return x86asm.RAX + r - x86asm.EAX, true
	case r >= x86asm.RAX && r <= x86asm.R15:
		return r, true
	}
	return 0, false
}

// writes returns the general register the instruction changes (0 for none), apart from RSP in push, pop,
// call and ret. known is false for instructions that may change others.
func (in *instruction) writes() (reg x86asm.Reg, known bool) {
	switch in.Op {
	case x86asm.CMP, x86asm.TEST, x86asm.PUSH, x86asm.NOP, x86asm.BT:
		return 0, true
	case x86asm.MOV, x86asm.LEA, x86asm.XOR, x86asm.AND, x86asm.OR, x86asm.ADD, x86asm.SUB, x86asm.POP,
		x86asm.MOVZX, x86asm.MOVSX, x86asm.MOVSXD, x86asm.INC, x86asm.DEC, x86asm.NEG, x86asm.NOT,
		x86asm.SHL, x86asm.SHR, x86asm.SAR, x86asm.MOVAPS, x86asm.MOVUPS, x86asm.MOVAPD, x86asm.MOVDQA,
		x86asm.MOVDQU, x86asm.PXOR, x86asm.XORPS, x86asm.MOVQ, x86asm.MOVD, x86asm.PUNPCKLQDQ,
		x86asm.CMOVA, x86asm.CMOVAE, x86asm.CMOVB, x86asm.CMOVBE, x86asm.CMOVE, x86asm.CMOVNE, x86asm.CMOVS, x86asm.CMOVNS,
		x86asm.CMOVG, x86asm.CMOVGE, x86asm.CMOVL, x86asm.CMOVLE:
		if r, ok := in.Args[0].(x86asm.Reg); ok {
			reg, _ = family(r)
		}
		return reg, true
	}
	return 0, false
}

// argumentRegisters are those of the first six arguments: System V ABI for x86-64, section 3.2.3.
var argumentRegisters = [...]x86asm.Reg{x86asm.RDI, x86asm.RSI, x86asm.RDX, x86asm.RCX, x86asm.R8, x86asm.R9}

// mayWrite says whether the instruction may change one of the registers of so many arguments.
func (in *instruction) mayWrite(arguments int) bool {
	reg, known := in.writes()
	return !known || slices.Contains(argumentRegisters[:arguments], reg)
}

func (in *instruction) writesStackPointer() bool {
	reg, _ := in.writes()
	return reg == x86asm.RSP
}

// What an instruction is in a function's control flow: a way back to the caller, a call, a jump that is always taken.
func (in *instruction) returns() bool  { return in.Op == x86asm.RET }
func (in *instruction) calls() bool    { return in.Op == x86asm.CALL }
func (in *instruction) goesAway() bool { return in.Op == x86asm.JMP }

func (in *instruction) pushes() bool       { return in.Op == x86asm.PUSH }
func (in *instruction) compares() bool     { return in.Op == x86asm.CMP || in.Op == x86asm.TEST }
func (in *instruction) doesNothing() bool  { return in.Op == x86asm.NOP }
func (in *instruction) entersKernel() bool { return in.Op == x86asm.SYSCALL }

// marksEntry says whether the instruction is endbr64, which marks where a call through a pointer may go.
func (in *instruction) marksEntry() bool {
	return in.Op == x86asm.NOP && in.Len == 4 && in.raw[0] == 0xf3
}

// goesOn says whether control may go on to the next instruction.
func (in *instruction) goesOn() bool { return !in.returns() && !in.goesAway() && !in.traps() }

// through returns the address of the pointer in the file's data through which the instruction calls or jumps.
func (in *instruction) through() (pointer uint64, ok bool) {
	m, ok := in.Args[0].(x86asm.Mem)
	return in.end() + uint64(m.Disp), ok && m.Base == x86asm.RIP && m.Index == 0 && (in.calls() || in.goesAway())
}

// throughRegister returns the register whose value a call or jump goes to.
func (in *instruction) throughRegister() (reg x86asm.Reg, ok bool) {
	reg, ok = in.Args[0].(x86asm.Reg)
	return reg, ok
}

// throughMember returns where in a structure the pointer lies that a call or jump goes through.
func (in *instruction) throughMember() (offset int64, ok bool) {
	m, ok := in.Args[0].(x86asm.Mem)
	return m.Disp, ok && m.Index == 0 && m.Base != x86asm.RIP
}

// loadsMember returns where in a structure the word lies that the instruction loads.
func (in *instruction) loadsMember() (offset int64, ok bool) {
	m, ok := in.Args[1].(x86asm.Mem)
	return m.Disp, ok && in.Op == x86asm.MOV && m.Index == 0
}
