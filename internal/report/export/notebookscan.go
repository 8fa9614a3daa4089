package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// span is the place of a value in the text of a notebook.
type span struct{ from, to int }

// member is a member of an object.
type member struct {
	key   string
	name  span // the key, with its quotes
	value span
}

const (
	maxDepth = 500     // levels of nested values
	maxParts = 1 << 20 // members and items that are looked at: the cells, and the members and items of cells
)

var errNotNotebook = errors.New("it is not a Jupyter notebook")

// scanner finds the places of values in a notebook's text, so that edits can keep the layout of everything else. The
// text must be valid JSON.
type scanner struct {
	text  []byte
	parts int // members and items found so far
}

// countPart counts a member or an item. It fails beyond maxParts.
func (s *scanner) countPart() error {
	if s.parts++; s.parts > maxParts {
		return fmt.Errorf("it has more than %d parts", maxParts)
	}
	return nil
}

// skip returns the place of the first byte, from at on, that is not white space.
func (s *scanner) skip(at int) int {
	for at < len(s.text) && bytes.IndexByte([]byte(" \t\r\n"), s.text[at]) >= 0 {
		at++
	}
	return at
}

// value returns the span of the value that begins at or behind a place.
func (s *scanner) value(at int) (span, error) {
	at = s.skip(at)
	if at >= len(s.text) {
		return span{}, io.ErrUnexpectedEOF
	}
	switch s.text[at] {
	case '"':
		return span{at, s.quoted(at)}, nil
	case '{', '[':
		end, err := s.nest(at)
		return span{at, end}, err
	}
	end := at
	for end < len(s.text) && bytes.IndexByte([]byte(",]} \t\r\n"), s.text[end]) < 0 {
		end++
	}
	return span{at, end}, nil
}

// quoted returns the end of the string that begins at a place: the place behind its quote.
func (s *scanner) quoted(at int) int {
	for at++; at < len(s.text) && s.text[at] != '"'; at++ {
		if s.text[at] == '\\' {
			at++
		}
	}
	return min(at+1, len(s.text))
}

// nest returns the end of the object or list that begins at a place. It fails beyond maxDepth levels.
func (s *scanner) nest(at int) (int, error) {
	for depth := 0; at < len(s.text); {
		switch s.text[at] {
		case '"':
			at = s.quoted(at)
			continue
		case '{', '[':
			if depth++; depth > maxDepth {
				return 0, fmt.Errorf("its values lie more than %d deep in each other", maxDepth)
			}
		case '}', ']':
			if depth--; depth == 0 {
				return at + 1, nil
			}
		}
		at++
	}
	return 0, io.ErrUnexpectedEOF
}

// members returns the members of an object. It fails for another value.
func (s *scanner) members(object span) (members []member, err error) {
	if s.text[object.from] != '{' {
		return nil, errNotNotebook
	}
	for at := s.skip(object.from + 1); at < object.to-1; {
		m := member{name: span{at, s.quoted(at)}}
		if err := json.Unmarshal(s.text[m.name.from:m.name.to], &m.key); err != nil {
			return nil, err
		}
		if m.value, err = s.value(s.skip(m.name.to) + 1); err != nil {
			return nil, err
		}
		if err := s.countPart(); err != nil {
			return nil, err
		}
		members = append(members, m)
		at = s.skip(m.value.to)
		if at < object.to && s.text[at] == ',' {
			at = s.skip(at + 1)
		}
	}
	return members, nil
}

// items returns the places of the items of a list. It fails for another value.
func (s *scanner) items(list span) (items []span, err error) {
	if s.text[list.from] != '[' {
		return nil, errNotNotebook
	}
	for at := s.skip(list.from + 1); at < list.to-1; {
		item, err := s.value(at)
		if err != nil {
			return nil, err
		}
		if err := s.countPart(); err != nil {
			return nil, err
		}
		items = append(items, item)
		at = s.skip(item.to)
		if at < list.to && s.text[at] == ',' {
			at = s.skip(at + 1)
		}
	}
	return items, nil
}

// find returns the member with a key. Of several it returns the last, as JSON readers do.
func find(members []member, key string) (member, bool) {
	for _, m := range slices.Backward(members) {
		if m.key == key {
			return m, true
		}
	}
	return member{}, false
}

// spaceBefore returns the white space in front of a place.
func (s *scanner) spaceBefore(at int) string {
	from := at
	for from > 0 && bytes.IndexByte([]byte(" \t\r\n"), s.text[from-1]) >= 0 {
		from--
	}
	return string(s.text[from:at])
}
