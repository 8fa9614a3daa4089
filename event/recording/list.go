package recording

import (
	"encoding/json"
	"fmt"
	"unsafe"
)

// Bounds on the memory that a list in a detail takes. In the writer's texts a list is not much shorter than in memory,
// because each element has its members. A hostile text can have "{}", "null" or "0" for each element.
const (
	maxListed = 64 << 20
	maxSwell  = 16 // bytes of memory for each byte of text
)

// list is a list in a row's detail. UnmarshalJSON refuses a text whose list would take much more memory than the text.
type list[T any] []T

// UnmarshalJSON implements [json.Unmarshaler].
func (l *list[T]) UnmarshalJSON(text []byte) error {
	size := int(unsafe.Sizeof(*new(T)))
	if memory := size * elements(text); memory > maxListed || memory > maxSwell*(len(text)+size) {
		return fmt.Errorf("%w: a list of %d bytes that would take too much memory", errDamaged, len(text))
	}
	return json.Unmarshal(text, (*[]T)(l))
}

// elements returns an upper bound on the number of elements of a list in JSON.
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

// convert applies f to each element. It returns nil for nil, and an empty list for an empty list.
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
