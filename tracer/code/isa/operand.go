package isa

// Operand is an operand of an instruction. Two are the same place if they are equal.
type Operand struct {
	Kind  OperandKind
	Base  Register // InRegister: the register; InMemory: one to whose value Value is added
	Index Register // InMemory: a register that is added as well, perhaps several times
	// Apart: InMemory: the address is another one than base, index and Value say, as in a segment of its own.
	// InRegister: it is a part of the register that is not the lowest.
	Apart bool
	Width uint16 // in bytes; 0: not known
	Value int64  // Constant: the number; Code and AtAddress: the address; InMemory: what is added to the registers
}

// OperandKind says what an operand is.
type OperandKind uint8

// The kinds of operands.
const (
	NoOperand  OperandKind = iota
	InRegister             // a general register, or a part of it
	InMemory               // memory that registers point to
	AtAddress              // memory at an address in the file, which the instruction knows by its own
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

// Fills reports whether the operand is a general register all of which a write changes: half of one, too, whose upper
// half becomes zero.
func (o *Operand) Fills() bool { return o.Kind == InRegister && o.Width >= Word/2 }

// LowByte reports whether the operand is the lowest byte of a general register.
func (o *Operand) LowByte() bool { return o.Kind == InRegister && o.Width == 1 && !o.Apart }
