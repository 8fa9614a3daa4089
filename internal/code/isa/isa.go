// Package isa describes processors and instructions as data. So analyses of machine code (internal/code/machine) need
// not know any processor. An [Architecture] has the registers and the calling convention, and decodes bytes to an
// [Instruction]. For each processor, a package below internal/code/machine provides an Architecture. The tests of
// internal/code/machine have one for a toy processor.
package isa

import (
	"debug/elf"
	"math/bits"
)

// Word is the size of a general register, and of a word of the stack, in bytes.
const Word = 8

// MaxRegisters is the largest number of general registers of an architecture. MaxLength is the length of the longest
// instruction in bytes.
const (
	MaxRegisters = 32
	MaxLength    = 16
)

// Register is a general register, or [None].
type Register uint8

// None is no general register.
const None Register = 0

// Numbered returns a register by the processor's own number.
func Numbered(n int) Register { return Register(n + 1) }

// Number returns the processor's own number of a register; -1 for None.
func (r Register) Number() int { return int(r) - 1 }

// Set returns the set that contains only r, or the empty set if r is None.
func (r Register) Set() Registers {
	if r == None {
		return 0
	}
	return 1 << (r - 1)
}

// Registers is a set of general registers: bit n is the register with number n.
type Registers uint32

// SetOf returns the set of some registers.
func SetOf(registers ...Register) (s Registers) {
	for _, r := range registers {
		s |= r.Set()
	}
	return s
}

// All calls yield with each register of the set, in the order of their numbers.
func (s Registers) All(yield func(Register) bool) {
	for ; s != 0; s &= s - 1 {
		if !yield(Numbered(bits.TrailingZeros32(uint32(s)))) {
			return
		}
	}
}

// Architecture is a processor, as far as analyses need it.
type Architecture struct {
	Machine elf.Machine // in the header of an ELF file
	Count   int         // the number of general registers

	Arguments []Register // have a function's first arguments, in order
	Result    Register   // has a function's result
	// Stored has the address at which a function stores a result that is too large for registers, or is a class with a
	// destructor. It is None if that address is passed as the first argument.
	Stored       Register
	StackPointer Register
	FramePointer Register
	Counter      Register  // the register that some conditional jumps count down; None if there is none
	Preserved    Registers // the registers that a function restores, without the stack pointer
	Clobbered    Registers // the registers that a call may change

	// Results are the places that a site may name for a function's result. The index is a [Result]; the first one that
	// holds the result is chosen.
	Results []Place
	// StubStep is the step in bytes between addresses at which a stub, the code in the linkage table, may begin.
	StubStep uint64
	// Stub returns the pointer through which the stub at an address jumps to its function. It decodes as many
	// instructions as the longest stub has, plus more. ok is false if there is no stub.
	Stub func(decode func(addr uint64) (in Instruction, ok bool), addr uint64, more int) (pointer uint64, ok bool)

	// Decode returns the first instruction of code that lies at addr. ok is false if the instruction is not known.
	Decode func(code []byte, addr uint64) (in Instruction, ok bool)
	// Scan searches code that lies at addr for bytes that decode as an instruction which refers to another place, and
	// calls found for each. The bytes may be part of another instruction by chance. Scan ends when found returns false.
	Scan func(addr uint64, code []byte, found func(Reference) bool)
	// Unbroken reports whether the instruction at addr lies in a sequence that a probe would keep from ever succeeding:
	// between an exclusive load and its store. It is nil if the processor has no such sequences.
	Unbroken func(decode func(addr uint64) (in Instruction, ok bool), addr uint64) bool
}

// Result identifies a place of a function's result. The number is part of the cookies of probes, and the kernel half
// has the same list (RESULT_REGISTERS in bpf/machine.h).
type Result uint8

// Returned is the register in which functions return their result, on every architecture.
const Returned Result = 0

// Place is a place that may hold a function's result.
type Place struct {
	Name     string
	Register Register // None: no register; the result is zero, such as a null pointer
}

// Reference is an instruction at address At that refers to address To.
type Reference struct {
	At, To uint64
	Kind   ReferenceKind
}

// ReferenceKind is the way in which an instruction refers to an address.
type ReferenceKind uint8

// The kinds of references.
const (
	Calls    ReferenceKind = iota // calls the address, or jumps there unconditionally
	Branches                      // jumps to the address on a condition
	Through                       // calls or jumps through the pointer at the address
	Loads                         // loads the word at the address
	Takes                         // puts the address into a register
)
