package cpython

// FirstLine returns the line on which a statement begins. It reads the line table of the code object that IPython
// compiled for that one statement: a module (or interactive) code object with a co_firstlineno of 1 whatever the line
// is, from 3.10 on. table is co_lnotab (3.9) or co_linetable, and may be cut short; then the answer may be a later line
// of a statement that goes over several. 0 is "not known": the statement makes no instruction of its own, such as
// global, or the table is damaged or cut before the first line.
//
// The answer is the smallest line of any instruction, because the first one need not be on the first line: x = (\n a)
// loads a before it stores x. Instructions the compiler adds at the start are left out.
func FirstLine(v Version, firstLine int32, table []byte) int {
	switch {
	case v.Minor <= 9:
		return firstLine39(int(firstLine), table)
	case v.Minor == 10:
		return firstLine310(int(firstLine), table)
	default:
		return firstLine311(int(firstLine), table)
	}
}

// firstLine39 reads co_lnotab: pairs of an unsigned increment of the address and a signed one of the line
// (Objects/lnotab_notes.txt, 3.9). The line before the first step is no instruction's if the step is at 0.
func firstLine39(line int, table []byte) int {
	const most, least = 127, -128 // of a step, or of a part of one that is larger
	var r runs
	cut := false
	for i := 0; i+2 <= len(table); i += 2 {
		if table[i] > 0 {
			r.add(int(table[i]), line)
		}
		delta := int(int8(table[i+1]))
		line += delta
		cut = len(table) >= cutTable && (delta == most || delta == least)
	}
	if !cut {
		r.add(1, line)
	}
	return r.first()
}

// cutTable is the length in bytes from which a table may have been cut, so that a step spread over several
// pairs may not end in it.
const cutTable = 64

// firstLine310 reads co_linetable of 3.10: pairs of an unsigned length in bytes and a signed increment of
// the line, -128 for no line (Objects/lnotab_notes.txt, 3.10).
func firstLine310(line int, table []byte) int {
	const noLine = -128
	var r runs
	for ; len(table) >= 2; table = table[2:] {
		length, delta := int(table[0]), int(int8(table[1]))
		if delta == noLine {
			continue
		}
		if line += delta; length > 0 { // 0: a part of a step too large for one pair
			r.add(length, line)
		}
	}
	return r.first()
}

// runs collects instructions with the same line, in order, as far as the first line needs them.
type runs struct {
	n      int
	setup  bool // the first run is one instruction on line 1
	next   int  // the line of the second run
	lowest int  // of all but the first run if setup
}

func (r *runs) add(length, line int) {
	if line < 1 {
		return
	}
	switch r.n++; {
	case r.n == 1 && length == 2 && line == 1:
		r.setup = true
		return
	case r.next == 0 && r.n > 1:
		r.next = line
	}
	if r.lowest == 0 || line < r.lowest {
		r.lowest = line
	}
}

// first returns the lowest line. SETUP_ANNOTATIONS of an interactive statement is on line 1 wherever the
// statement is; a single instruction on line 1 with the next one on line 2 is taken for a statement that
// begins on line 1, a decorated function or a try, which is far more common.
func (r *runs) first() int {
	if r.setup && r.next > 0 && r.next <= 2 {
		return 1
	}
	return r.lowest
}

// firstLine311 reads the location table of 3.11 and newer (Objects/locations.md, InternalDocs/code_objects.md
// from 3.14). The compiler's own instructions come first: on line 0 (RESUME), on line 1 before it where the
// statement awaits (RETURN_GENERATOR), and without a width (SETUP_ANNOTATIONS of an interactive statement).
func firstLine311(line int, table []byte) int {
	lowest := 0
	for len(table) > 0 {
		e, n := location(table)
		if n == 0 {
			break
		}
		table = table[n:]
		line += e.lineDelta
		switch {
		case e.none || e.empty || line < 0:
		case line == 0:
			lowest = 0 // earlier instructions were in front of RESUME
		case lowest == 0 || line < lowest:
			lowest = line
		}
	}
	return lowest
}

// locationEntry is one entry of a location table.
type locationEntry struct {
	lineDelta int
	none      bool // the instructions have no line
	empty     bool // they have columns, but of no width
}

// location decodes the first entry of a table and returns its size in bytes, 0 where it is not whole.
func location(table []byte) (e locationEntry, size int) {
	first := table[0]
	if first&0x80 == 0 {
		return e, 0
	}
	rest := table[1:]
	switch code := first >> 3 & 15; {
	case code == 15:
		e.none = true
		return e, 1
	case code == 14: // line, end line, column, end column
		var v [4]uint
		for i := range v {
			var n int
			if v[i], n = varint(rest); n == 0 {
				return e, 0
			}
			rest = rest[n:]
		}
		e.lineDelta = signed(v[0])
		e.empty = v[1] == 0 && v[2] == v[3]
		return e, len(table) - len(rest)
	case code == 13: // line only
		v, n := varint(rest)
		e.lineDelta = signed(v)
		if n == 0 {
			return e, 0
		}
		return e, 1 + n
	case code >= 10: // line, column, end column
		if len(rest) < 2 {
			return e, 0
		}
		e.lineDelta, e.empty = int(code)-10, rest[0] == rest[1]
		return e, 3
	default: // same line, columns in one byte
		if len(rest) < 1 {
			return e, 0
		}
		e.empty = rest[0]&15 == 0
		return e, 2
	}
}

// varint decodes groups of six bits, the lowest first, each but the last marked with 64.
func varint(b []byte) (v uint, n int) {
	for shift := 0; n < len(b) && shift < 32; shift += 6 {
		c := b[n]
		n++
		v |= uint(c&63) << shift
		if c&64 == 0 {
			return v, n
		}
	}
	return 0, 0
}

// signed undoes the zig-zag of a signed varint: the lowest bit is the sign.
func signed(v uint) int {
	if v&1 != 0 {
		return -int(v >> 1)
	}
	return int(v >> 1)
}
