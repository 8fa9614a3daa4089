package recording

import (
	"encoding/json"
	"fmt"
	"unsafe"
)

// The bounds on the memory that a list in a detail takes: the writer writes each element with its members, so that its
// text is not much shorter than its memory. A list of anybody's can have "{}", "null" or "0" for each.
const (
	maxListed = 64 << 20
	maxSwell  = 16 // bytes of memory for a byte of text
)

// list is a list in a row's detail. One that takes much more memory than its text is refused before it is decoded.
type list[T any] []T

// UnmarshalJSON implements [json.Unmarshaler].
func (l *list[T]) UnmarshalJSON(text []byte) error {
	size := int(unsafe.Sizeof(*new(T)))
	if taken := size * elements(text); taken > maxListed || taken > maxSwell*(len(text)+size) {
		return fmt.Errorf("%w: a list of %d bytes that would take too much memory", errDamaged, len(text))
	}
	return json.Unmarshal(text, (*[]T)(l))
}

// elements returns the number of elements of a list in JSON, or more.
func elements(text []byte) int {
	quoted, depth, n := false, 0, 1
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[', c == '{':
			depth++
		case c == ']', c == '}':
			depth--
		case c == ',' && depth == 1:
			n++
		}
	}
	return n
}

// convert maps a list and keeps the difference between an empty one and none.
func convert[A, B any](list []A, f func(A) B) []B {
	if list == nil {
		return nil
	}
	out := make([]B, len(list))
	for i, v := range list {
		out[i] = f(v)
	}
	return out
}
