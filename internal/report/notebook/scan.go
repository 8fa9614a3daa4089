package notebook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// scanner finds the parts of a notebook. It changes nothing, because the notebook's layout is its owner's.
type scanner struct {
	text  []byte
	parts int // found so far
}

// more counts a part.
func (s *scanner) more() error {
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

// value returns the span of the value that begins at or behind a place. The text is known to be JSON.
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

// quoted returns the end of the string that begins at a place.
func (s *scanner) quoted(at int) int {
	for at++; at < len(s.text) && s.text[at] != '"'; at++ {
		if s.text[at] == '\\' {
			at++
		}
	}
	return min(at+1, len(s.text))
}

// nest returns the end of the object or list that begins at a place.
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

// members returns the members of an object.
func (s *scanner) members(of span) (all []member, err error) {
	if s.text[of.from] != '{' {
		return nil, errNotNotebook
	}
	for at := s.skip(of.from + 1); at < of.to-1; {
		one := member{name: span{at, s.quoted(at)}}
		if err := json.Unmarshal(s.text[one.name.from:one.name.to], &one.key); err != nil {
			return nil, err
		}
		if one.value, err = s.value(s.skip(one.name.to) + 1); err != nil {
			return nil, err
		}
		if err := s.more(); err != nil {
			return nil, err
		}
		all = append(all, one)
		at = s.skip(one.value.to)
		if at < of.to && s.text[at] == ',' {
			at = s.skip(at + 1)
		}
	}
	return all, nil
}

// items returns the items of a list.
func (s *scanner) items(of span) (all []span, err error) {
	if s.text[of.from] != '[' {
		return nil, errNotNotebook
	}
	for at := s.skip(of.from + 1); at < of.to-1; {
		one, err := s.value(at)
		if err != nil {
			return nil, err
		}
		if err := s.more(); err != nil {
			return nil, err
		}
		all = append(all, one)
		at = s.skip(one.to)
		if at < of.to && s.text[at] == ',' {
			at = s.skip(at + 1)
		}
	}
	return all, nil
}

// find returns the member with a key. Of several it returns the last, as JSON readers do.
func find(all []member, key string) (member, bool) {
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].key == key {
			return all[i], true
		}
	}
	return member{}, false
}

// before returns the white space in front of a place.
func (s *scanner) before(at int) string {
	from := at
	for from > 0 && bytes.IndexByte([]byte(" \t\r\n"), s.text[from-1]) >= 0 {
		from--
	}
	return string(s.text[from:at])
}
