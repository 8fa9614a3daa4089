package isa

// Operand is an operand of an instruction. Equal operands are the same place.
type Operand struct {
	Kind  OperandKind
	Base  Register // InRegister: the register; InMemory: the register that Value is added to
	Index Register // InMemory: a register that is also added, perhaps multiplied
	// Apart is true for InMemory if the address has another part besides Base, Index and Value, such as a segment. It
	// is true for InRegister if the operand is a part of the register, but not the lowest part.
	Apart bool
	Width uint16 // in bytes; 0: not known
	// Value is for Constant the number, for Code and AtAddress the address, for InMemory the displacement.
	Value int64
}

// OperandKind is the kind of an operand.
type OperandKind uint8

// The kinds of operands.
const (
	NoOperand  OperandKind = iota
	InRegister             // a general register, or a part of it
	InMemory               // memory that registers point to
	AtAddress              // memory at an address in the file, relative to the instruction's own
	Constant               // a number
	Code                   // a place in the code
	Elsewhere              // a register that is not a general one, or a place that is not described
)

// Memory reports whether the operand is in memory.
func (o *Operand) Memory() bool { return o.Kind == InMemory || o.Kind == AtAddress }

// Relative reports whether the operand is memory at an address in the file.
func (o *Operand) Relative() bool { return o.Kind == AtAddress }

// Whole reports whether the operand is a whole general register.
func (o *Operand) Whole() bool { return o.Kind == InRegister && o.Width == Word }

// Fills reports whether the operand is a general register and a write changes all of it. A write to the lower half
// does, as it makes the upper half zero.
func (o *Operand) Fills() bool { return o.Kind == InRegister && o.Width >= Word/2 }

// LowByte reports whether the operand is the lowest byte of a general register.
func (o *Operand) LowByte() bool { return o.Kind == InRegister && o.Width == 1 && !o.Apart }
