package contents

// elementType is the type of an array's elements: NumPy's letter for the kind, and the bytes of an element. The letter
// B with 2 bytes is PyTorch's bfloat16.
type elementType struct {
	kind byte
	size int
}

// facts are facts about the elements that were looked at.
type facts struct {
	seen int64 // number of elements
	// min and max are the least and the greatest finite number, exact, in decimal digits; "" for none.
	min, max string
	zeros    int64 // elements that are 0 or False, or a text without characters
	missing  int64 // elements that are NaN or NaT
	infinite int64
	whole    bool   // floats: each finite number is an integer, and there is one
	real     bool   // complex: no element has an imaginary part
	fits     string // the narrowest dtype of the same kind that holds all elements without loss; "" for their own
	distinct int64  // number of different values; 0 for more than maxDistinct
	// ascending is true if no element is less than the one before it in memory. It is false if parts were skipped.
	ascending bool
	longest   int64 // texts: characters of the longest
	ascii     bool  // texts: all characters are ASCII
}

// maxDistinct is the greatest number of different values that is counted.
const maxDistinct = 256

// block is the number of elements that are scanned at a time. They stay in the processor's cache while each fact looks
// at them in turn.
const block = 1024

// kindScanner scans the elements of one kind of type.
type kindScanner interface {
	add(part []byte) // scans a part, which has whole elements
	skip()           // notes that the next part does not begin where the last ended
	facts() facts
}

// order finds out whether elements ascend: none is less than the one before it, and none is NaN.
type order[T integer | float] struct {
	begun bool
	falls bool
	last  T
}

func (o *order[T]) add(values []T) {
	if o.falls || len(values) == 0 {
		return
	}
	last := o.last
	if !o.begun {
		last, o.begun = values[0], true
	}
	for _, v := range values {
		if !(v >= last) { // also for NaN
			o.falls = true
			return
		}
		last = v
	}
	o.last = last
}

// distinct counts different values up to maxDistinct, in a hash table.
type distinct struct {
	slots [4 * maxDistinct]uint64
	used  [4 * maxDistinct]bool
	count int
	many  bool // there are more than maxDistinct
}

// add counts a value, given as bits that no other value has.
func (d *distinct) add(v uint64) {
	const spread, bits = 0x9e3779b97f4a7c15, 10 // 2^bits is len(slots)
	at := v * spread >> (64 - bits)
	for d.used[at] {
		if d.slots[at] == v {
			return
		}
		at = (at + 1) % uint64(len(d.slots))
	}
	if d.count == maxDistinct {
		d.many = true
		return
	}
	d.slots[at], d.used[at] = v, true
	d.count++
}

// number returns how many different values there are; 0 for too many.
func (d *distinct) number() int64 {
	if d.many {
		return 0
	}
	return int64(d.count)
}

type float interface{ ~float32 | ~float64 }

type integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64
}
