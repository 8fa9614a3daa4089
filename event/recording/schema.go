package recording

import (
	"fmt"
	"strconv"
)

// schema maps the columns of a recording to those of this package.
type schema struct {
	version string     // of the tracer that wrote it
	types   []dataType // of each column in the file
	column  []int      // for each column in the file the index in fields; -1 for a column that a newer tracer added
}

// readSchema reads the schema from a recording's first message.
func readSchema(msg message) (s schema, err error) {
	defer recoverDamage(&err)
	if msg.kind != headerSchema {
		return s, fmt.Errorf("%w: it begins with another message", ErrNotRecording)
	}
	meta := msg.header.pairs(2)
	format, err := strconv.Atoi(string(meta[keyFormat]))
	if err != nil || format < 1 {
		return s, fmt.Errorf("%w: it is an Arrow stream of something else", ErrNotRecording)
	}
	s.version = string(meta[keyVersion])
	if format > Format {
		return s, fmt.Errorf("%w: format %d by version %.60q, this one reads up to format %d",
			ErrVersion, format, s.version, Format)
	}
	if msg.header.byte(0) != 0 {
		return s, fmt.Errorf("%w: it is big-endian", ErrNotRecording)
	}
	return s, s.addColumns(msg.header.tables(1))
}

func (s *schema) addColumns(columns []fbTable) error {
	found := make(map[int]bool)
	for _, f := range columns {
		name := f.bytes(0)
		typ, ok := columnType(f)
		if !ok {
			return fmt.Errorf("%w: column %.60q has a type that recordings do not use", ErrNotRecording, name)
		}
		place := -1
		for i, known := range fields {
			if known.name == string(name) && !found[i] {
				if known.typ != typ {
					return fmt.Errorf("%w: column %.60q has another type", ErrNotRecording, name)
				}
				place, found[i] = i, true
			}
		}
		s.types = append(s.types, typ)
		s.column = append(s.column, place)
	}
	for i, f := range fields {
		if f.required && !found[i] {
			return fmt.Errorf("%w: it has no column %q", ErrNotRecording, f.name)
		}
	}
	return nil
}

func columnType(f fbTable) (dataType, bool) {
	_, children := f.vector(5, 4)
	if children != 0 || f.slot(4) != 0 { // nested, or dictionary-encoded
		return 0, false
	}
	switch f.byte(2) {
	case arrowUTF8:
		return typeUTF8, true
	case arrowBinary:
		return typeBinary, true
	case arrowBool:
		return typeBool, true
	case arrowInt:
		signed := f.table(3).byte(1) != 0
		switch bits := f.table(3).int32(0); {
		case bits == 32 && signed:
			return typeInt32, true
		case bits == 32:
			return typeUint32, true
		case bits == 64 && signed:
			return typeInt64, true
		case bits == 64:
			return typeUint64, true
		}
	}
	return 0, false
}
