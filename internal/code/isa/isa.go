// Package isa describes a processor for analyses of machine code: an [Architecture] with its registers and calling
// convention, and an [Instruction] as data. Analyses (internal/code/machine) read these and know no processor; a
// package below internal/code/machine fills them in for each. The toy architecture in its tests drives the analyses in
// tests.
package isa

import (
	"debug/elf"
	"math/bits"
)

// Word is the size of a general register, and of a word of the stack, in bytes.
const Word = 8

// MaxRegisters is how many general registers an architecture has at most, and MaxLength how many bytes an instruction.
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

// Set returns the set of one register; the empty set for None.
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

	Arguments []Register // of the first arguments of a function, in order
	Result    Register   // the one with a function's result
	// Stored has the address at which a function stores a result that is too large for registers, or is a class with a
	// destructor; None where that is the first argument.
	Stored       Register
	StackPointer Register
	FramePointer Register
	Counter      Register  // which a conditional jump may count down; None where none does
	Preserved    Registers // those that a function restores, but for the stack pointer
	Clobbered    Registers // those that a call does not preserve

	// Results are the places that a site may name for a function's result: by [Result], the best first.
	Results []Place
	// StubStep is by how many bytes stubs, the code in the linkage table, may begin apart.
	StubStep uint64
	// Stub returns the pointer through which the stub at an address jumps to its function. It decodes a stub's
	// instructions, and so many more. ok is false where there is no stub.
	Stub func(decode func(addr uint64) (in Instruction, ok bool), addr uint64, more int) (pointer uint64, ok bool)

	// Decode returns the first instruction of some code, which lies at an address. ok is false for bytes that are not a
	// known instruction.
	Decode func(code []byte, addr uint64) (in Instruction, ok bool)
	// Scan calls found with each place in some code that reads as an instruction with a reference to another place: by
	// chance it may be part of another instruction. It ends early where found returns false. The code lies at an
	// address.
	Scan func(addr uint64, code []byte, found func(Reference) bool)
	// Unbroken reports whether an instruction lies in a sequence that never ends well with a probe in it, as between a
	// load and a store that are to be one. Nil: there are no such sequences.
	Unbroken func(decode func(addr uint64) (in Instruction, ok bool), addr uint64) bool
}

// Result is the place of a function's result, by a number that stands in the cookies of probes. The kernel half has the
// same list (RESULT_REGISTERS in bpf/machine.h).
type Result uint8

// Returned is the register that functions return in, on every architecture.
const Returned Result = 0

// Place is a place that a result may lie in.
type Place struct {
	Name     string
	Register Register // None: the result is zero, as a null pointer is
}

// Reference is a place in code that reads as an instruction with a reference to another place.
type Reference struct {
	At, To uint64
	Kind   ReferenceKind
}

// ReferenceKind is the way in which an instruction refers to a place.
type ReferenceKind uint8

// The kinds of references.
const (
	Calls    ReferenceKind = iota // calls it, or jumps there always
	Branches                      // jumps there on a condition
	Through                       // calls or jumps to where the pointer there points
	Loads                         // loads the word there
	Takes                         // takes the address
)
