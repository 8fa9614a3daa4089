// Package x86 describes x86-64 in the form of internal/code/isa. It describes the instructions, which of them Linux
// emulates under a uprobe, and the calling convention.
package x86

import (
	"debug/elf"

	"golang.org/x/arch/x86/x86asm"

	"ipytracer/internal/code/isa"
)

// The places that may hold a function's result, see [isa.Result]. Zero is no register: the function returns NULL.
const (
	RAX isa.Result = iota
	RBX
	RBP
	R12
	R13
	R14
	R15
	Zero
	RDI // only where a tail call is to a function that returns its first argument
)

// The registers, by the processor's own numbers.
var (
	rax, rcx, rdx, rbx = isa.Numbered(0), isa.Numbered(1), isa.Numbered(2), isa.Numbered(3)
	rsp, rbp, rsi, rdi = isa.Numbered(4), isa.Numbered(5), isa.Numbered(6), isa.Numbered(7)
	r8, r9, r10, r11   = isa.Numbered(8), isa.Numbered(9), isa.Numbered(10), isa.Numbered(11)
	r12, r13, r14, r15 = isa.Numbered(12), isa.Numbered(13), isa.Numbered(14), isa.Numbered(15)
)

// Architecture is x86-64. Its calling convention is that of the System V ABI, section 3.2.3 and figure 3.4.
var Architecture = isa.Architecture{
	Machine:      elf.EM_X86_64,
	Count:        16,
	Arguments:    []isa.Register{rdi, rsi, rdx, rcx, r8, r9},
	Result:       rax,
	StackPointer: rsp,
	FramePointer: rbp,
	Counter:      rcx,
	Preserved:    isa.SetOf(rbx, rbp, r12, r13, r14, r15),
	Clobbered:    isa.SetOf(rax, rcx, rdx, rsi, rdi, r8, r9, r10, r11),
	Results: []isa.Place{
		RAX: {Name: "rax", Register: rax}, RBX: {Name: "rbx", Register: rbx}, RBP: {Name: "rbp", Register: rbp},
		R12: {Name: "r12", Register: r12}, R13: {Name: "r13", Register: r13}, R14: {Name: "r14", Register: r14},
		R15: {Name: "r15", Register: r15}, Zero: {Name: "0"}, RDI: {Name: "rdi", Register: rdi},
	},
	StubStep: 8,
	Stub:     stub,
	Decode:   decode,
	Scan:     scan,
}

// family returns the general register that r is, or is a part of; isa.None if r is no part of a general register.
func family(r x86asm.Reg) isa.Register {
	switch {
	case r >= x86asm.AL && r <= x86asm.BL: // AL, CL, DL, BL
		return isa.Numbered(int(r - x86asm.AL))
	case r >= x86asm.AH && r <= x86asm.BH:
		return isa.Numbered(int(r - x86asm.AH))
	case r >= x86asm.SPB && r <= x86asm.R15B:
		return isa.Numbered(int(r-x86asm.SPB) + rsp.Number())
	case r >= x86asm.AX && r <= x86asm.R15W:
		return isa.Numbered(int(r - x86asm.AX))
	case r >= x86asm.EAX && r <= x86asm.R15L:
		return isa.Numbered(int(r - x86asm.EAX))
	case r >= x86asm.RAX && r <= x86asm.R15:
		return isa.Numbered(int(r - x86asm.RAX))
	}
	return isa.None
}

// width returns the size in bytes of a general register or of its part.
func width(r x86asm.Reg) uint16 {
	switch {
	case r >= x86asm.RAX:
		return 8
	case r >= x86asm.EAX:
		return 4
	case r >= x86asm.AX:
		return 2
	}
	return 1
}
