// Package arm64 describes the 64-bit Arm architecture (AArch64) in the form of internal/code/isa. It describes the
// instructions, which of them Linux emulates or refuses under a uprobe, and the calling convention.
//
// It decodes instructions by the tables of the Arm Architecture Reference Manual (DDI 0487, chapter C4). It knows each
// base instruction. Of the others, such as those of SVE, it knows only that they do not jump.
package arm64

import (
	"debug/elf"

	"ipytracer/internal/code/isa"
)

// The places that may hold a function's result, see [isa.Result]. Zero is no register: the function returns NULL. No
// other register is needed, because Linux emulates every return.
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

// The registers with a role in the calling convention, by the processor's numbers. Number 31 is the stack pointer in
// some operands, and the constant zero in others.
var (
	x0, x8       = isa.Numbered(0), isa.Numbered(8)
	x16, x17     = isa.Numbered(16), isa.Numbered(17)
	framePointer = isa.Numbered(29)
	linkRegister = isa.Numbered(30)
	stackPointer = isa.Numbered(31)
)

// clobbered are the registers that a call may change. The linkage table uses 16 and 17, a platform may use 18.
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

// size is the size of every instruction in bytes.
const size = 4

// numbered returns the registers with the numbers from first to last.
func numbered(first, last int) (registers []isa.Register) {
	for n := first; n <= last; n++ {
		registers = append(registers, isa.Numbered(n))
	}
	return registers
}

// general returns the general register with number n. For 31 it returns None: a write there has no effect, and a read
// gives zero.
func general(n uint32) isa.Register {
	if n == 31 {
		return isa.None
	}
	return isa.Numbered(int(n))
}

// word is an encoded instruction.
type word uint32

// bits returns the bits from number high down to number low.
func (w word) bits(high, low uint) uint32 { return uint32(w) >> low & (1<<(high-low+1) - 1) }

// signed returns the bits from number high down to number low as a signed number.
func (w word) signed(high, low uint) int64 {
	unused := 63 - (high - low)
	return int64(uint64(w.bits(high, low))<<unused) >> unused
}

// is reports whether the bits that mask selects have a value.
func (w word) is(mask, value uint32) bool { return uint32(w)&mask == value }

// wide reports whether the operands are whole registers: bit 31 is set.
func (w word) wide() bool { return w>>31 == 1 }

// width returns the size of the operands in bytes.
func (w word) width() uint16 {
	if w.wide() {
		return isa.Word
	}
	return isa.Word / 2
}

// register returns the operand of general register n, where number 31 is the constant zero.
func register(n uint32, width uint16) isa.Operand {
	if n == 31 {
		return constant(0)
	}
	return isa.Operand{Kind: isa.InRegister, Base: isa.Numbered(int(n)), Width: width}
}

// registerOrStack returns the operand of general register n, where number 31 is the stack pointer.
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

// inMemory returns an operand in memory, above bytes from where register base points.
func inMemory(base uint32, above int64, width uint16) isa.Operand {
	return isa.Operand{Kind: isa.InMemory, Base: isa.Numbered(int(base)), Value: above, Width: width}
}
