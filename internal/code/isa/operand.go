package isa

// Operand is an operand of an instruction. Two are the same place if they are equal.
type Operand struct {
	Kind  OperandKind
	Base  Register // InRegister: the register; InMemory: the one that Value is added to
	Index Register // InMemory: a register that is added as well, perhaps several times
	// Apart: InMemory: the address has another part besides base, index and Value, as in a segment of its own.
	// InRegister: it is a part of the register that is not the lowest.
	Apart bool
	Width uint16 // in bytes; 0: not known
	// Constant: the number; Code and AtAddress: the address; InMemory: the number that is added to the registers
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
	Elsewhere              // another register
)

// Memory reports whether the operand is in memory.
func (o *Operand) Memory() bool { return o.Kind == InMemory || o.Kind == AtAddress }

// Relative reports whether the operand is memory at an address in the file.
func (o *Operand) Relative() bool { return o.Kind == AtAddress }

// Whole reports whether the operand is a whole general register.
func (o *Operand) Whole() bool { return o.Kind == InRegister && o.Width == Word }

// Fills reports whether the operand is a general register and a write changes all of it. That includes a write of one
// half that makes the upper half zero.
func (o *Operand) Fills() bool { return o.Kind == InRegister && o.Width >= Word/2 }

// LowByte reports whether the operand is the lowest byte of a general register.
func (o *Operand) LowByte() bool { return o.Kind == InRegister && o.Width == 1 && !o.Apart }
