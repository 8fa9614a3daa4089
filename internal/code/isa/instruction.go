package isa

// Instruction is an instruction at an address, as data.
type Instruction struct {
	Addr uint64
	Len  int
	Kind Kind
	// Emulated: under a uprobe, Linux carries out the instruction itself instead of stepping the thread over a copy.
	// The field is also valid if Decode returned false, and so is Refused.
	Emulated bool
	// Refused: Linux takes no uprobe on the instruction, or what runs in its place would do something else.
	Refused bool
	// MarksEntry: the instruction only marks a place to which calls through pointers may go. Its kind is [Nop].
	MarksEntry bool
	// Plain: the instruction writes no general register but Writes and Also, apart from the stack pointer in a push, a
	// pop, a call or a return. An instruction that is not Plain may write any register, unless its kind rules that out.
	// After the instruction the registers in Also have unknown contents, unless its kind says what they have.
	Plain  bool
	Writes Register
	Also   Registers
	// Makes is the register that receives the result of a [Convert] or a [Multiply]. Loses is a register with unknown
	// contents after such an instruction, or after a [Branch].
	Makes, Loses Register

	Comparison

	// Exclusive: the instruction is the load or the store of a pair that must not be interrupted, nor must the code
	// between the two.
	Exclusive Exclusive

	Stack StackEffect
	By    int64 // the distance in bytes of a StackEffect
	Frame FrameEffect
	// FrameBy is for FrameSet: the distance in bytes from the stack pointer up to the new frame pointer.
	FrameBy int64

	// Operands are the operands. If the instruction writes an operand, it writes the first. Missing operands are of
	// kind NoOperand.
	Operands [4]Operand
}

// Comparison describes how an instruction uses and changes the processor's flags.
type Comparison struct {
	Flags     Flags
	Relation  Relation  // of a Branch, SetByte or CompareIf: the relation of unsigned values that it tests for, if any
	Else      Relations // of a CompareIf: the relations that the flags stand for if it compares nothing
	Condition Condition // of a Branch, if HasCondition: the flags with which it is taken

	HasCondition bool // false for a Branch that depends on more than the flags
}

// Kind is the kind of an instruction.
type Kind uint8

// The kinds of instructions.
const (
	Other      Kind = iota
	Nop             // nothing
	Return          // to the caller
	Call            // a function
	Jump            // always
	Branch          // jumps on a condition; with three operands, that the Relation holds between the second and third
	Trap            // raises an exception; control does not go on behind it
	SystemCall      // enters the kernel
	Compare         // the first operand with the second
	Test            // the bits that two operands share; of an operand with itself, a comparison with zero
	TestBit         // a bit of an operand
	Push            // the first operand on the stack
	Pop             // off the stack
	Leave           // sets the stack pointer to the frame pointer, and takes that off the stack
	Move            // copies the second operand to the first
	Address         // the address of the second operand, which is in memory, to the first
	Clear           // writes zero to the first operand, a register: all of it
	Or              // the second operand into the first
	SetByte         // writes 1 into the first operand, a byte, where a relation holds, else 0
	Convert         // widens a value to Makes
	Multiply        // into Makes and Loses, or the first operand by the second, or the second by the third
	Exchange        // two operands
	Pair            // copies the second operand to the first and the fourth to the third, at once
	CompareIf       // a Compare if the flags say that the Relation holds; if not, sets the flags to Else
	Insert          // into the first operand: bits of the second, a number, where the third has ones
)

// Flags is an instruction's effect on the flags of the processor.
type Flags uint8

// The effects on flags.
const (
	FlagsLost Flags = iota // unknown afterwards
	FlagsKept
	FlagsSet // by a comparison, a test or an or
)

// Relation is a comparison of unsigned values.
type Relation uint8

// The relations.
const (
	NoRelation Relation = iota
	Above
	AboveOrEqual
	Below
	BelowOrEqual
	Equal
	NotEqual
)

// Otherwise returns the relation that holds where r does not.
func (r Relation) Otherwise() Relation {
	return [...]Relation{
		Above: BelowOrEqual, AboveOrEqual: Below, Below: AboveOrEqual, BelowOrEqual: Above, Equal: NotEqual,
		NotEqual: Equal,
	}[r]
}

// Relations is a set of relations.
type Relations uint8

// Has reports whether a relation is in the set.
func (s Relations) Has(r Relation) bool { return s&(1<<r) != 0 }

// Add adds a relation to the set if it holds.
func (s *Relations) Add(r Relation, holds bool) {
	if holds {
		*s |= 1 << r
	}
}

// Condition is the state of the processor's flags in which a hit counts: flags & Mask == Value. The zero Condition
// always holds.
type Condition struct{ Mask, Value uint32 }

// Holds reports whether a hit with these flags counts.
func (c Condition) Holds(flags uint64) bool { return uint32(flags)&c.Mask == c.Value }

// Otherwise returns the condition with which a conditional jump is not taken, if c is the one with which it is taken.
func (c Condition) Otherwise() Condition { return Condition{c.Mask, c.Mask &^ c.Value} }

// Exclusive is the role of an instruction in an exclusive access: a load and a later store that must not be
// interrupted.
type Exclusive uint8

// The parts.
const (
	NotExclusive Exclusive = iota
	ExclusiveLoad
	ExclusiveStore
)

// StackEffect is an instruction's effect on the stack pointer. A call counts as having none, because the return takes
// its return address off the stack.
type StackEffect uint8

// The effects on the stack pointer.
const (
	StackKept  StackEffect = iota
	StackMoves             // down by By, which may be negative
	StackFrame             // to the frame pointer plus By
	StackLeave             // to the frame pointer plus By, and the caller's frame pointer is restored
	StackLost              // unknown
)

// FrameEffect is an instruction's effect on the frame pointer.
type FrameEffect uint8

// The effects on the frame pointer.
const (
	FrameKept FrameEffect = iota
	FrameSet              // to the stack pointer plus FrameBy
	FrameLost             // unknown
)

// End returns the address of the next instruction.
func (in *Instruction) End() uint64 { return in.Addr + uint64(in.Len) }

// Target returns where a direct jump or call goes.
func (in *Instruction) Target() (addr uint64, ok bool) {
	to := &in.Operands[0]
	return uint64(to.Value), to.Kind == Code
}

// Jumps reports whether the instruction jumps, always or on a condition.
func (in *Instruction) Jumps() bool { return in.Kind == Jump || in.Kind == Branch }

// GoesOn reports whether control may go on to the next instruction.
func (in *Instruction) GoesOn() bool { return in.Kind != Return && in.Kind != Jump && in.Kind != Trap }

// Compares reports whether the instruction only compares, or tests, its operands.
func (in *Instruction) Compares() bool {
	return in.Kind == Compare || in.Kind == CompareIf || in.Kind == Test
}

// Through returns the address of the pointer, in the file's data, through which the instruction calls or jumps.
func (in *Instruction) Through() (pointer uint64, ok bool) {
	m := &in.Operands[0]
	return uint64(m.Value), m.Relative() && m.Index == None && (in.Kind == Call || in.Kind == Jump)
}

// ThroughRegister returns the register to which a call or jump goes.
func (in *Instruction) ThroughRegister() (r Register, ok bool) {
	return in.Operands[0].Base, in.Operands[0].Kind == InRegister
}

// ThroughMember returns the offset, in a structure, of the pointer through which a call or jump goes.
func (in *Instruction) ThroughMember() (offset int64, ok bool) {
	m := &in.Operands[0]
	return m.Value, m.Kind == InMemory && m.Index == None
}

// LoadsMember returns the offset, in a structure, of the word that the instruction loads into a register.
func (in *Instruction) LoadsMember(into Register) (offset int64, ok bool) {
	m := &in.Operands[1]
	if to := &in.Operands[2]; in.Kind == Pair && to.Kind == InRegister && to.Base == into {
		m = &in.Operands[3]
	}
	return m.Value, m.Kind == InMemory && (in.Kind == Move || in.Kind == Pair) && m.Index == None
}

// MayWrite reports whether the instruction may change any of the registers.
func (in *Instruction) MayWrite(any Registers) bool {
	return !in.Plain || (in.Writes.Set()|in.Also)&any != 0
}
