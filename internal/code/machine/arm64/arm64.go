// Package arm64 is the 64-bit Arm architecture (AArch64), as analyses of machine code see it (internal/code/isa): its
// instructions, those of them that the kernel emulates and those that it refuses, and the calling convention of Linux.
//
// Instructions are decoded from the tables of the Arm Architecture Reference Manual (DDI 0487, chapter C4). The base
// instructions are known one by one. Of others, as those of SVE, it is known that they do not jump, and no more.
package arm64

import (
	"debug/elf"

	"ipytracer/internal/code/isa"
)

// The places that a function's result may be in, see [isa.Result]. Zero is none: the function returns NULL. Others are
// not needed: each return is emulated.
const (
	X0 isa.Result = iota
	X19
	X20
	X21
	X22
	X23
	X24
	Zero
)

// The registers that have a part in the calling convention, by the processor's numbers. Number 31 is the stack pointer
// in some operands, and zero in others.
var (
	x0, x8       = isa.Numbered(0), isa.Numbered(8)
	x16, x17     = isa.Numbered(16), isa.Numbered(17)
	framePointer = isa.Numbered(29)
	linkRegister = isa.Numbered(30)
	stackPointer = isa.Numbered(31)
)

// clobbered are the registers that a call does not preserve. The linkage table takes 16 and 17, a platform may have 18.
var clobbered = isa.SetOf(numbered(0, 18)...) | linkRegister.Set()

// Architecture is AArch64, little endian. Its calling convention is that of the Procedure Call Standard (AAPCS64),
// sections 6.1.1 and 6.9.
var Architecture = isa.Architecture{
	Machine:      elf.EM_AARCH64,
	Count:        32,
	Arguments:    numbered(0, 7),
	Result:       x0,
	Stored:       x8,
	StackPointer: stackPointer,
	FramePointer: framePointer,
	Preserved:    isa.SetOf(numbered(19, 29)...),
	Clobbered:    clobbered,
	Results: []isa.Place{
		X0: {Name: "x0", Register: x0}, X19: {Name: "x19", Register: isa.Numbered(19)},
		X20: {Name: "x20", Register: isa.Numbered(20)}, X21: {Name: "x21", Register: isa.Numbered(21)},
		X22: {Name: "x22", Register: isa.Numbered(22)}, X23: {Name: "x23", Register: isa.Numbered(23)},
		X24: {Name: "x24", Register: isa.Numbered(24)}, Zero: {Name: "0"},
	},
	StubStep: size,
	Stub:     stub,
	Decode:   decode,
	Scan:     scan,
	Unbroken: exclusive,
}

// size is that of every instruction, in bytes.
const size = 4

// numbered returns the registers from one number to another.
func numbered(first, last int) (registers []isa.Register) {
	for n := first; n <= last; n++ {
		registers = append(registers, isa.Numbered(n))
	}
	return registers
}

// general returns the register that some number names, with none for 31: what is written there is lost, and what is
// read is zero.
func general(n uint32) isa.Register {
	if n == 31 {
		return isa.None
	}
	return isa.Numbered(int(n))
}

// word is an instruction.
type word uint32

// bits returns the bits from one number up to another.
func (w word) bits(high, low uint) uint32 { return uint32(w) >> low & (1<<(high-low+1) - 1) }

// signed returns these bits as a signed number.
func (w word) signed(high, low uint) int64 {
	unused := 63 - (high - low)
	return int64(uint64(w.bits(high, low))<<unused) >> unused
}

// is reports whether the bits of a mask have a value.
func (w word) is(mask, value uint32) bool { return uint32(w)&mask == value }

// wide reports whether the operands are whole registers (bit 31).
func (w word) wide() bool { return w>>31 == 1 }

// width returns the size of the operands in bytes.
func (w word) width() uint16 {
	if w.wide() {
		return isa.Word
	}
	return isa.Word / 2
}

// register is an operand in a register; number 31 is zero.
func register(n uint32, width uint16) isa.Operand {
	if n == 31 {
		return constant(0)
	}
	return isa.Operand{Kind: isa.InRegister, Base: isa.Numbered(int(n)), Width: width}
}

// registerOrStack is an operand in a register; number 31 is the stack pointer.
func registerOrStack(n uint32, width uint16) isa.Operand {
	return isa.Operand{Kind: isa.InRegister, Base: isa.Numbered(int(n)), Width: width}
}

func constant(n int64) isa.Operand { return isa.Operand{Kind: isa.Constant, Value: n} }

func codeAt(addr uint64, distance int64) isa.Operand {
	return isa.Operand{Kind: isa.Code, Value: int64(addr) + distance}
}

func at(addr uint64, width uint16) isa.Operand {
	return isa.Operand{Kind: isa.AtAddress, Value: int64(addr), Width: width}
}

// inMemory is an operand in memory, some bytes above where a register points.
func inMemory(base uint32, above int64, width uint16) isa.Operand {
	return isa.Operand{Kind: isa.InMemory, Base: isa.Numbered(int(base)), Value: above, Width: width}
}
