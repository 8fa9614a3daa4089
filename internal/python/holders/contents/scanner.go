package contents

import (
	"encoding/binary"
	"hash/maphash"
	"strconv"
)

// maxText bounds the bytes of a text of fixed width.
const maxText = 64 << 10

// Known reports whether there are facts about elements of the type.
func (t Type) Known() bool { return scannerOf(t) != nil }

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
		return &times{}
	case Type{'f', 2}, Type{'B', 2}:
		return &halves{floats: *newFloats[float32](), brain: t.Kind == 'B'}
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
