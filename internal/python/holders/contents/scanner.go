package contents

import (
	"encoding/binary"
	"hash/maphash"
	"strconv"
)

// maxText bounds the bytes of a text of fixed width.
const maxText = 64 << 10

// isKnown reports whether there are facts about elements of the type.
func (t elementType) isKnown() bool { return scannerOf(t) != nil }

// scanner takes the parts of an array in.
type scanner struct {
	size int
	of   kindScanner
	hash maphash.Hash
	gap  bool
	seen int64
}

// newScanner makes a scanner, nil for a type that is not known. Hashes of the same seed can be compared.
func newScanner(t elementType, seed maphash.Seed) *scanner {
	of := scannerOf(t)
	if of == nil {
		return nil
	}
	s := &scanner{size: t.size, of: of}
	s.hash.SetSeed(seed)
	return s
}

func scannerOf(t elementType) kindScanner {
	switch t {
	case elementType{'b', 1}, elementType{'u', 1}:
		return newOctets(false)
	case elementType{'u', 2}:
		return newIntegers[uint16]()
	case elementType{'u', 4}:
		return newIntegers[uint32]()
	case elementType{'u', 8}:
		return newIntegers[uint64]()
	case elementType{'i', 1}:
		return newOctets(true)
	case elementType{'i', 2}:
		return newIntegers[int16]()
	case elementType{'i', 4}:
		return newIntegers[int32]()
	case elementType{'i', 8}:
		return newIntegers[int64]()
	case elementType{'m', 8}, elementType{'M', 8}:
		return &times{}
	case elementType{'f', 2}, elementType{'B', 2}:
		return &halves{floats: *newFloats[float32](), brain: t.kind == 'B'}
	case elementType{'f', 4}:
		return newFloats[float32]()
	case elementType{'f', 8}:
		return newFloats[float64]()
	case elementType{'c', 8}:
		return newPairs[float32]()
	case elementType{'c', 16}:
		return newPairs[float64]()
	}
	if t.kind == 'S' && t.size > 0 && t.size <= maxText {
		return newTexts(t.size, 1)
	}
	if t.kind == 'U' && t.size > 0 && t.size <= maxText && t.size%4 == 0 {
		return newTexts(t.size, 4)
	}
	return nil
}

// Add takes the next part in. Bytes behind its last whole element are left out.
func (s *scanner) Add(part []byte) {
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

// skip says that elements follow which are not looked at.
func (s *scanner) skip() {
	s.gap = true
	s.of.skip()
}

// facts returns the facts about all parts.
func (s *scanner) facts() facts {
	f := s.of.facts()
	f.seen = s.seen
	f.ascending = f.ascending && !s.gap && s.seen > 0
	return f
}

// sum returns a hash of the bytes. all is false if some were left out.
func (s *scanner) sum() (sum uint64, all bool) { return s.hash.Sum64(), !s.gap }

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

func (t *texts) facts() facts {
	f := facts{zeros: t.empty, longest: int64(t.longest), ascii: !t.wide, distinct: t.values.number()}
	if width := max(1, t.longest); width*t.char < t.size && t.values.count > 0 {
		letter := "S"
		if t.char == 4 {
			letter = "U"
		}
		f.fits = letter + strconv.Itoa(width)
	}
	return f
}
