package contents

import (
	"encoding/binary"
	"hash/maphash"
	"strconv"
)

// Type is the type of an array's elements: NumPy's letter for the kind, and the bytes of an element. The letter B with
// 2 bytes is PyTorch's bfloat16.
type Type struct {
	Kind byte
	Size int
}

// maxText bounds the bytes of a text of fixed width.
const maxText = 64 << 10

// Known reports whether there are facts about elements of the type.
func (t Type) Known() bool { return scannerOf(t) != nil }

// Facts are about the elements that were looked at.
type Facts struct {
	Seen int64 // elements
	// Min and Max are the least and the greatest finite number, exact, in decimal digits; "" for none.
	Min, Max string
	Zeros    int64 // elements that are 0 or False, or a text without characters
	Missing  int64 // NaN or NaT
	Infinite int64
	Whole    bool   // floats: each finite number is an integer, and there is one
	Real     bool   // complex: no element has an imaginary part
	Fits     string // the narrowest dtype of the same kind that holds all elements without loss; "" for their own
	Distinct int64  // number of different values; 0 for more than MaxDistinct
	// Ascending: no element is less than the one before it in memory. It is false if there is a gap.
	Ascending bool
	Longest   int64 // texts: characters of the longest
	ASCII     bool  // texts: there are no other characters
}

// MaxDistinct is the greatest number of different values that is counted.
const MaxDistinct = 256

// block is the number of elements that are looked at for one fact after the other: they stay in the processor's cache.
const block = 1024

// kindScanner takes the elements of one kind of type in. Each part has whole elements.
type kindScanner interface {
	add(part []byte)
	skip() // the next part does not begin at the end of the last
	facts() Facts
}

// Scanner takes the parts of an array in.
type Scanner struct {
	size int
	of   kindScanner
	hash maphash.Hash
	gap  bool
	seen int64
}

// NewScanner makes a scanner, nil for a type that is not known. Hashes of the same seed can be compared.
func NewScanner(t Type, seed maphash.Seed) *Scanner {
	of := scannerOf(t)
	if of == nil {
		return nil
	}
	s := &Scanner{size: t.Size, of: of}
	s.hash.SetSeed(seed)
	return s
}

func scannerOf(t Type) kindScanner {
	switch t {
	case Type{'b', 1}, Type{'u', 1}:
		return newOctets(false)
	case Type{'u', 2}:
		return newIntegers[uint16]()
	case Type{'u', 4}:
		return newIntegers[uint32]()
	case Type{'u', 8}:
		return newIntegers[uint64]()
	case Type{'i', 1}:
		return newOctets(true)
	case Type{'i', 2}:
		return newIntegers[int16]()
	case Type{'i', 4}:
		return newIntegers[int32]()
	case Type{'i', 8}:
		return newIntegers[int64]()
	case Type{'m', 8}, Type{'M', 8}:
		return newTimes()
	case Type{'f', 2}, Type{'B', 2}:
		return newHalves(t.Kind == 'B')
	case Type{'f', 4}:
		return newFloats[float32]()
	case Type{'f', 8}:
		return newFloats[float64]()
	case Type{'c', 8}:
		return newPairs[float32]()
	case Type{'c', 16}:
		return newPairs[float64]()
	}
	if t.Kind == 'S' && t.Size > 0 && t.Size <= maxText {
		return newTexts(t.Size, 1)
	}
	if t.Kind == 'U' && t.Size > 0 && t.Size <= maxText && t.Size%4 == 0 {
		return newTexts(t.Size, 4)
	}
	return nil
}

// Add takes the next part in. Bytes behind its last whole element are left out.
func (s *Scanner) Add(part []byte) {
	whole := len(part) - len(part)%s.size
	if whole < len(part) {
		s.gap = true
	}
	if part = part[:whole]; whole == 0 {
		return
	}
	s.seen += int64(whole / s.size)
	if !s.gap {
		_, _ = s.hash.Write(part)
	}
	s.of.add(part)
}

// Skip says that elements follow which are not looked at.
func (s *Scanner) Skip() {
	s.gap = true
	s.of.skip()
}

// Facts returns the facts about all parts.
func (s *Scanner) Facts() Facts {
	f := s.of.facts()
	f.Seen = s.seen
	f.Ascending = f.Ascending && !s.gap && s.seen > 0
	return f
}

// Hash returns a hash of all bytes, false if some were left out.
func (s *Scanner) Hash() (sum uint64, all bool) { return s.hash.Sum64(), !s.gap }

// distinct counts different values up to a bound.
type distinct struct {
	slots [4 * MaxDistinct]uint64
	used  [4 * MaxDistinct]bool
	count int
	many  bool // there are more
}

// add takes a value in, by bits that no other value has.
func (d *distinct) add(v uint64) {
	const spread, bits = 0x9e3779b97f4a7c15, 10 // as many as len(slots) takes
	at := v * spread >> (64 - bits)
	for d.used[at] {
		if d.slots[at] == v {
			return
		}
		at = (at + 1) % uint64(len(d.slots))
	}
	if d.count == MaxDistinct {
		d.many = true
		return
	}
	d.slots[at], d.used[at] = v, true
	d.count++
}

// number returns how many there are, 0 for many.
func (d *distinct) number() int64 {
	if d.many {
		return 0
	}
	return int64(d.count)
}

// texts are of a fixed width, with zeros behind their ends.
type texts struct {
	size, char int // bytes
	seed       maphash.Seed
	empty      int64
	longest    int
	wide       bool // a character is not ASCII
	values     distinct
	last       []byte
}

func newTexts(size, char int) *texts {
	return &texts{size: size, char: char, seed: maphash.MakeSeed(), last: make([]byte, 0, size)}
}

func (t *texts) skip() {}

func (t *texts) add(part []byte) {
	for ; len(part) >= t.size; part = part[t.size:] {
		one := trimmed(part[:t.size])
		chars := (len(one) + t.char - 1) / t.char
		if chars == 0 {
			t.empty++
		}
		t.longest = max(t.longest, chars)
		if string(one) == string(t.last) && t.values.count > 0 {
			continue
		}
		t.last = append(t.last[:0], one...)
		t.wide = t.wide || isWide(one, t.char)
		if !t.values.many {
			t.values.add(maphash.Bytes(t.seed, one))
		}
	}
}

// trimmed leaves out the zeros at the end of a text.
func trimmed(one []byte) []byte {
	n := len(one)
	for n >= 8 && binary.LittleEndian.Uint64(one[n-8:n]) == 0 {
		n -= 8
	}
	for n > 0 && one[n-1] == 0 {
		n--
	}
	return one[:n]
}

// isWide reports whether a text has characters that are not ASCII.
func isWide(one []byte, char int) bool {
	for i, b := range one {
		if b > 127 || b != 0 && i%char != 0 {
			return true
		}
	}
	return false
}

func (t *texts) facts() Facts {
	f := Facts{Zeros: t.empty, Longest: int64(t.longest), ASCII: !t.wide, Distinct: t.values.number()}
	if width := max(1, t.longest); width*t.char < t.size && t.values.count > 0 {
		letter := "S"
		if t.char == 4 {
			letter = "U"
		}
		f.Fits = letter + strconv.Itoa(width)
	}
	return f
}
