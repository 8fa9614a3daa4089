package isa

// Instruction is an instruction at an address, as data.
type Instruction struct {
	Addr uint64
	Len  int
	Kind Kind
	// Emulated: where a uprobe is on the instruction, Linux carries it out itself instead of stepping the thread over a
	// copy. Refused: Linux takes no uprobe on the instruction, or a step over a copy would do something else. Both are
	// also right for code that is no known instruction.
	Emulated, Refused bool
	// MarksEntry: the instruction only marks where a call through a pointer may go. Its kind is [Nop].
	MarksEntry bool
	// Plain: the instruction writes no general register but Writes and Also, apart from the stack pointer in a push, a
	// pop, a call or a return. An instruction that is not Plain may write any register, unless its kind rules that out.
	// The registers in Also have unknown contents behind it, unless its kind says what they have.
	Plain  bool
	Writes Register
	Also   Registers
	// Makes is the register in which a [Convert] or a [Multiply] makes a value. Loses is a register with unknown
	// contents behind such an instruction, or behind a [Branch].
	Makes, Loses Register

	Comparison

	// Exclusive: the instruction is a load or a store of a pair that must not be interrupted. All code between the two
	// belongs to the pair.
	Exclusive Exclusive

	Stack StackEffect
	By    int64 // the distance that a StackEffect goes by
	Frame FrameEffect
	// FrameBy is how far the frame pointer is above the stack pointer behind a FrameSet.
	FrameBy int64

	// Operands are the operands. If the instruction writes an operand, it writes the first. Missing operands are of
	// kind NoOperand.
	Operands [4]Operand
}

// Comparison is what an instruction has to do with the processor's flags.
type Comparison struct {
	Flags     Flags
	Relation  Relation  // of a Branch, SetByte or CompareIf: the comparison of unsigned values by which it goes, if any
	Else      Relations // those that the flags are of where a CompareIf compares nothing
	Condition Condition // of a Branch: when it is taken, where HasCondition; others depend on more than the flags

	HasCondition bool
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
	Branch          // jumps on a condition: that the second operand compares so with the third, where it has these
	Trap            // control never comes back
	SystemCall      // enters the kernel
	Compare         // the first operand with the second
	Test            // the bits that two operands share: with itself an operand is compared with zero
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
	CompareIf       // the same as Compare if the relation holds of the flags; else it sets the flags to others: Else
	Insert          // some bits into the first operand: the second one, a number, where the third one has ones
)

// Flags is an instruction's effect on the flags of the processor.
type Flags uint8

// The effects on flags. After others the flags are not known.
const (
	FlagsLost Flags = iota
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

// Relations is a set of them.
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

// Otherwise returns when a conditional jump with this condition is not taken.
func (c Condition) Otherwise() Condition { return Condition{c.Mask, c.Mask &^ c.Value} }

// Exclusive is the part that an instruction has in an exclusive access: a load and a store that must not be
// interrupted.
type Exclusive uint8

// The parts.
const (
	NotExclusive Exclusive = iota
	ExclusiveLoad
	ExclusiveStore
)

// StackEffect is an instruction's effect on the stack pointer. It leaves out words that a call pushes: they are gone
// when the call has returned.
type StackEffect uint8

// The effects on the stack pointer.
const (
	StackKept  StackEffect = iota
	StackMoves             // down by By, which may be negative
	StackFrame             // to the frame pointer less By
	StackLeave             // as a Leave does
	StackLost              // to an unknown place
)

// FrameEffect is an instruction's effect on the frame pointer.
type FrameEffect uint8

// The effects on the frame pointer.
const (
	FrameKept FrameEffect = iota
	FrameSet              // to the stack pointer plus FrameBy
	FrameLost             // to something else
)

// End returns the address of the next instruction.
func (in *Instruction) End() uint64 { return in.Addr + uint64(in.Len) }

// Target returns where a direct jump or call goes.
func (in *Instruction) Target() (addr uint64, ok bool) {
	to := &in.Operands[0]
	return uint64(to.Value), to.Kind == Code
}

// Jumps reports whether it jumps, always or on a condition.
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

// MayWrite reports whether it may change one of some registers.
func (in *Instruction) MayWrite(some Registers) bool {
	return !in.Plain || (in.Writes.Set()|in.Also)&some != 0
}
