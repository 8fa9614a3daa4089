package machine

// Value identifies the contents of a register or of a word of the stack. Two places with the same Value hold the same
// bits. The zero Value stands for unknown contents.
type Value uint32

// termKind is the kind of a value's origin.
type termKind uint8

// The comments give the meaning of a term's a and b.
const (
	termArgument termKind = 1 + iota // a: the argument's number, from 0
	termEntry                        // a: the register that held the value at the function's entry
	termResult                       // a: the address of the call
	termProduct                      // a, b: the factors, as Values
	termConstant                     // a: the constant
	termMade                         // a: the address of the instruction that made it; b: for a copy, the register
	termAddress                      // a: the value, an address in the file
	termLoad                         // a: the address that was loaded from; b: the address of the instruction
	termAtMost                       // if the lowest byte of the value is zero, then the Value a is at most b
	termImport                       // a: the address of a pointer that the dynamic linker fills in
)

// term is the origin of a Value.
type term struct {
	kind termKind
	a, b uint64
}

// terms gives each term a Value, the same Value for equal terms.
type terms struct {
	numbers map[term]Value
	known   []term // the term of Value v is known[v-1]
}

// of returns the Value of a term.
func (t *terms) of(x term) Value {
	v, ok := t.numbers[x]
	if !ok {
		t.known = append(t.known, x)
		v = Value(len(t.known))
		t.numbers[x] = v
	}
	return v
}

// term returns the origin of a value.
func (t *terms) term(v Value) (x term, ok bool) {
	if v == 0 || int(v) > len(t.known) {
		return x, false
	}
	return t.known[v-1], true
}

func (t *terms) product(x, y Value) Value {
	if x == 0 || y == 0 {
		return 0
	}
	return t.of(term{termProduct, uint64(min(x, y)), uint64(max(x, y))})
}
