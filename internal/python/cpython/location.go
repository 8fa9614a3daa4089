package cpython

// Line returns the line of an instruction of a code object, 0 if the line table does not have it. The table may be cut
// short or damaged. at is the instruction: f_lasti in 3.9 (in bytes) and 3.10 (in instructions of two bytes); from 3.11
// on the bytes from the first instruction.
func Line(v Version, firstLine int32, table []byte, at int64) int {
	switch {
	case at < 0: // nothing has been executed yet
		return int(firstLine)
	case v.Minor <= 9:
		return line39(int(firstLine), table, at)
	case v.Minor == 10:
		return line310(int(firstLine), table, 2*at)
	default:
		return line311(int(firstLine), table, at)
	}
}

// line39 reads co_lnotab, see firstLine39.
func line39(line int, table []byte, at int64) int {
	address := int64(0)
	for ; len(table) >= 2; table = table[2:] {
		if address += int64(table[0]); address > at {
			break
		}
		line += int(int8(table[1]))
	}
	return line
}

// line310 reads co_linetable of 3.10, see firstLine310.
func line310(line int, table []byte, at int64) int {
	const noLine = -128
	end := int64(0)
	for ; len(table) >= 2; table = table[2:] {
		delta := int(int8(table[1]))
		if delta != noLine {
			line += delta
		}
		if end += int64(table[0]); at < end {
			if delta == noLine {
				return 0
			}
			return line
		}
	}
	return 0
}

// line311 reads the location table of 3.11 and newer. An entry covers up to eight units of two bytes.
func line311(line int, table []byte, at int64) int {
	end := int64(0)
	for len(table) > 0 {
		units := int64(table[0]&7) + 1
		e, n := location(table)
		if n == 0 {
			break
		}
		table = table[n:]
		line += e.lineDelta
		if end += 2 * units; at < end {
			if e.none {
				return 0
			}
			return line
		}
	}
	return 0
}
