package cpython

// FirstLine returns the line on which a statement begins. It reads the line table of the code object that IPython
// compiled for that one statement: a module (or interactive) code object with a co_firstlineno of 1 whatever the line
// is, from 3.10 on. table is co_lnotab (3.9) or co_linetable, and may be cut short; then the answer may be a later line
// of a statement that goes over several. The result is 0 where the line is not known: the statement makes no
// instruction of its own, such as global, or the table is damaged, or cut before the first line.
//
// The result is the lowest line of any instruction, because the first instruction need not be on the first line:
// x = (\n a) loads a before it stores x. Instructions that the compiler adds at the start do not count.
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

// firstLine39 reads co_lnotab: pairs of an unsigned increment of the address and a signed increment of the line
// (Objects/lnotab_notes.txt, 3.9). If the first increment of the address is 0, no instruction is on the line before it.
func firstLine39(line int, table []byte) int {
	const most, least = 127, -128 // increments that may be a part of a larger one
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

// cutTable is the length in bytes from which on a table may have been cut, and with it an increment that is spread over
// several pairs.
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
		line += delta
		if length > 0 { // 0: the pair is a part of an increment that is too large for one
			r.add(length, line)
		}
	}
	return r.first()
}

// runs gathers what first needs to know of runs: of instructions one after another with the same line.
type runs struct {
	n      int  // number of runs
	setup  bool // the first run is a single instruction on line 1
	next   int  // the line of the second run
	lowest int  // the lowest line, without the first run if setup
}

// add adds a run of length bytes. A run without a line does not count.
func (r *runs) add(length, line int) {
	const instruction = 2 // bytes
	if line < 1 {
		return
	}
	r.n++
	if r.n == 1 && length == instruction && line == 1 {
		r.setup = true
		return
	}
	if r.n > 1 && r.next == 0 {
		r.next = line
	}
	if r.lowest == 0 || line < r.lowest {
		r.lowest = line
	}
}

// first returns the line on which the statement begins. SETUP_ANNOTATIONS of an interactive statement is on line 1,
// wherever the statement is. But where the next instruction is on line 1 or 2, the statement is taken to begin on line
// 1: a decorated function or a try is far more common.
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

// location decodes the first entry of a table. size is the entry's size in bytes, 0 where it is damaged or cut.
func location(table []byte) (e locationEntry, size int) {
	first := table[0]
	if first&0x80 == 0 {
		return e, 0
	}
	rest := table[1:]
	const noLine, long, lineOnly, oneLine = 15, 14, 13, 10 // codes; oneLine to oneLine+2 have an increment of 0 to 2
	code := first >> 3 & 15
	switch {
	case code == noLine:
		e.none = true
		return e, 1
	case code == long: // line, end line, column, end column
		var v [4]uint
		for i := range v {
			var n int
			if v[i], n = varint(rest); n == 0 {
				return e, 0
			}
			rest = rest[n:]
		}
		e.lineDelta = zigzag(v[0])
		e.empty = v[1] == 0 && v[2] == v[3]
		return e, len(table) - len(rest)
	case code == lineOnly:
		v, n := varint(rest)
		e.lineDelta = zigzag(v)
		if n == 0 {
			return e, 0
		}
		return e, 1 + n
	case code >= oneLine: // column, end column
		if len(rest) < 2 {
			return e, 0
		}
		e.lineDelta, e.empty = int(code)-oneLine, rest[0] == rest[1]
		return e, 3
	default: // the same line, both columns in one byte
		if len(rest) < 1 {
			return e, 0
		}
		e.empty = rest[0]&15 == 0
		return e, 2
	}
}

// varint decodes a number of groups of six bits, the lowest group first. Each byte but the last has the bit 64 set. n
// is the number of bytes, 0 where the number is damaged or cut.
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

// zigzag decodes a signed varint, whose lowest bit is the sign.
func zigzag(v uint) int {
	if v&1 != 0 {
		return -int(v >> 1)
	}
	return int(v >> 1)
}
