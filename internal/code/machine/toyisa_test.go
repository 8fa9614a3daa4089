package machine

// The toy is an architecture and its assembler, for tests of analyses only: nothing of a real processor
// holds for it. An instruction has four bytes: an operation and its operands. There are eight registers, of which the
// stack pointer and the frame pointer are the last. Arguments and results lie elsewhere than on any real machine.

import (
	"debug/elf"

	"ipytracer/internal/code/isa"
)

// The registers by number: a function's arguments are in R5, R1, R2 and R4, and it returns R3. It gives back R0 and FP.
var (
	R0, R1, R2, R3 = isa.Numbered(0), isa.Numbered(1), isa.Numbered(2), isa.Numbered(3)
	R4, R5, FP, SP = isa.Numbered(4), isa.Numbered(5), isa.Numbered(6), isa.Numbered(7)
)

// The places that a result may be in.
const (
	InR3 isa.Result = iota
	InR0
	InFP
	Nothing
)

// Size is that of an instruction, in bytes.
const Size = 4

// Architecture is the toy.
var Architecture = isa.Architecture{
	Machine:      elf.Machine(0xffff),
	Count:        8,
	Arguments:    []isa.Register{R5, R1, R2, R4},
	Result:       R3,
	StackPointer: SP,
	FramePointer: FP,
	Preserved:    isa.SetOf(R0, FP),
	Clobbered:    isa.SetOf(R1, R2, R3, R4, R5),
	Results: []isa.Place{
		InR3: {Name: "r3", Register: R3}, InR0: {Name: "r0", Register: R0},
		InFP: {Name: "fp", Register: FP}, Nothing: {Name: "nothing"},
	},
	StubStep: Size,
	Stub:     stub,
	Decode:   decode,
	Scan:     scan,
}

// operation is the first byte of an instruction.
type operation byte

const (
	opNop operation = 0x80 + iota
	opMark
	opRet
	opTrap
	opSystemCall
	opPush
	opPop
	opLeave
	opFrame
	opMove
	opClear
	opMultiply
	opMystery
	opCallRegister
	opJumpRegister
	// The rest have a number of 16 bits in their last two bytes.
	opGrow
	opConstant
	opCompare
	opCall
	opJump
	opBranch
	opLoadFrom
	opAddressOf
	opCallThrough
	opJumpThrough
	// And these a register and a number of words.
	opLoad
	opStore
	opAddress
)

func number(r isa.Register) byte { return byte(r.Number()) }

func wide(op operation, first byte, n int) []byte {
	return []byte{byte(op), first, byte(n), byte(n >> 8)}
}

// distance returns the number of instructions to a place from an instruction's end.
func distance(from, to uint64) int { return int(int64(to-from)-Size) / Size }

// Instructions without operands. The effect of [Mystery] is not known.
func Nop() []byte        { return []byte{byte(opNop), 0, 0, 0} }
func Mark() []byte       { return []byte{byte(opMark), 0, 0, 0} }
func Ret() []byte        { return []byte{byte(opRet), 0, 0, 0} }
func Trap() []byte       { return []byte{byte(opTrap), 0, 0, 0} }
func SystemCall() []byte { return []byte{byte(opSystemCall), 0, 0, 0} }
func Leave() []byte      { return []byte{byte(opLeave), 0, 0, 0} }
func Frame() []byte      { return []byte{byte(opFrame), 0, 0, 0} } // the frame pointer becomes the stack pointer
func Mystery() []byte    { return []byte{byte(opMystery), 0, 0, 0} }

// Instructions on registers. Grow makes room on the stack, in words.
func Push(r isa.Register) []byte             { return []byte{byte(opPush), number(r), 0, 0} }
func Pop(r isa.Register) []byte              { return []byte{byte(opPop), number(r), 0, 0} }
func Move(to, from isa.Register) []byte      { return []byte{byte(opMove), number(to), number(from), 0} }
func Clear(r isa.Register) []byte            { return []byte{byte(opClear), number(r), 0, 0} }
func Multiply(to, by isa.Register) []byte    { return []byte{byte(opMultiply), number(to), number(by), 0} }
func Grow(words int) []byte                  { return wide(opGrow, 0, words) }
func Constant(to isa.Register, n int) []byte { return wide(opConstant, number(to), n) }
func Compare(r isa.Register, n int) []byte   { return wide(opCompare, number(r), n) }
func CallRegister(r isa.Register) []byte     { return []byte{byte(opCallRegister), number(r), 0, 0} }
func JumpRegister(r isa.Register) []byte     { return []byte{byte(opJumpRegister), number(r), 0, 0} }
func Load(to, base isa.Register, n int) []byte {
	return []byte{byte(opLoad), number(to), number(base), byte(n)}
}
func Store(base isa.Register, n int, from isa.Register) []byte {
	return []byte{byte(opStore), number(from), number(base), byte(n)}
}
func Address(to, base isa.Register, n int) []byte {
	return []byte{byte(opAddress), number(to), number(base), byte(n)}
}

// Instructions at an address that refer to another one.
func CallTo(at, to uint64) []byte      { return wide(opCall, 0, distance(at, to)) }
func Jump(at, to uint64) []byte        { return wide(opJump, 0, distance(at, to)) }
func CallThrough(at, to uint64) []byte { return wide(opCallThrough, 0, distance(at, to)) }
func JumpThrough(at, to uint64) []byte { return wide(opJumpThrough, 0, distance(at, to)) }
func LoadFrom(r isa.Register, at, to uint64) []byte {
	return wide(opLoadFrom, number(r), distance(at, to))
}
func AddressOf(r isa.Register, at, to uint64) []byte {
	return wide(opAddressOf, number(r), distance(at, to))
}

// Branch jumps where a comparison has come out so.
func Branch(on isa.Relation, at, to uint64) []byte { return wide(opBranch, byte(on), distance(at, to)) }
