package machine

// Value names the contents of a register or of a word of the stack: places with the same Value hold the same. The zero
// Value is not known.
type Value uint32

// termKind is the origin of a value.
type termKind uint8

const (
	termArgument termKind = 1 + iota // a: which one
	termEntry                        // a: the register that held it at the function's entry
	termResult                       // a: the address of the call
	termProduct                      // a, b: Values
	termConstant                     // a
	termMade                         // a: the address of the instruction that made it, b: of a copy, where to
	termAddress                      // a: an address in the file
	termLoad                         // a: the address that was loaded from, b: of the instruction
	termAtMost                       // a: a Value that is at most b where the lowest byte is zero
	// a: the address of the pointer to a symbol of another file, filled in by the dynamic linker
	termImport
)

// term is the origin of a Value.
type term struct {
	kind termKind
	a, b uint64
}

// terms numbers the known values, each once.
type terms struct {
	numbers map[term]Value
	known   []term // by number, from 1 on
}

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
