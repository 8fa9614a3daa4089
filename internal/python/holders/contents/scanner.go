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

// scanner scans the elements of an array, part by part.
type scanner struct {
	size int         // bytes of an element
	kind kindScanner // of the elements' type
	hash maphash.Hash
	gap  bool // elements were skipped
	seen int64
}

// newScanner makes a scanner, nil for a type that is not known. Hashes of the same seed can be compared.
func newScanner(t elementType, seed maphash.Seed) *scanner {
	kind := scannerOf(t)
	if kind == nil {
		return nil
	}
	s := &scanner{size: t.size, kind: kind}
	s.hash.SetSeed(seed)
	return s
}

// scannerOf returns a new scanner for a type of elements, nil for a type that is not known.
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
		return &halves{floats: *newFloats[float32](), isBFloat16: t.kind == 'B'}
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

// Add scans the next part. It leaves out bytes behind the last whole element.
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
	s.kind.add(part)
}

// skip notes that elements are skipped before the next part.
func (s *scanner) skip() {
	s.gap = true
	s.kind.skip()
}

// facts returns the facts about all parts.
func (s *scanner) facts() facts {
	f := s.kind.facts()
	f.seen = s.seen
	f.ascending = f.ascending && !s.gap && s.seen > 0
	return f
}

// sum returns a hash of the bytes. complete is false if elements were skipped.
func (s *scanner) sum() (sum uint64, complete bool) { return s.hash.Sum64(), !s.gap }

// texts scans texts of a fixed width, with zeros behind their ends.
type texts struct {
	size, char int // bytes of a text, and of a character
	seed       maphash.Seed
	empty      int64 // texts without characters
	longest    int   // characters of the longest text
	wide       bool  // a character is not ASCII
	values     distinct
	last       []byte // the last text
}

func newTexts(size, char int) *texts {
	return &texts{size: size, char: char, seed: maphash.MakeSeed(), last: make([]byte, 0, size)}
}

func (t *texts) skip() {}

func (t *texts) add(part []byte) {
	for ; len(part) >= t.size; part = part[t.size:] {
		text := trimmed(part[:t.size])
		chars := (len(text) + t.char - 1) / t.char
		if chars == 0 {
			t.empty++
		}
		t.longest = max(t.longest, chars)
		if string(text) == string(t.last) && t.values.count > 0 {
			continue
		}
		t.last = append(t.last[:0], text...)
		t.wide = t.wide || isWide(text, t.char)
		if !t.values.many {
			t.values.add(maphash.Bytes(t.seed, text))
		}
	}
}

// trimmed returns a text without the zeros at its end.
func trimmed(text []byte) []byte {
	n := len(text)
	for n >= 8 && binary.LittleEndian.Uint64(text[n-8:n]) == 0 {
		n -= 8
	}
	for n > 0 && text[n-1] == 0 {
		n--
	}
	return text[:n]
}

// isWide reports whether a text has characters that are not ASCII. A character has char bytes, the lowest first.
func isWide(text []byte, char int) bool {
	for i, b := range text {
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
