package recording

import "encoding/binary"

// table holds the rows that are not written yet, column by column, in Arrow's layout. A column allocates its memory at
// its first value.
type table struct {
	columns [colCount]column
	rows    int
	pending int // bytes of text
}

// column is one column of a table. Its setters set the value in the table's last row.
type column struct {
	data    []byte // fixed width: one slot per row; bool: a bitmap; text: the texts end to end
	offsets []byte // text only: the end of each row that is laid out, behind a zero
	valid   []byte // bitmap of the rows that have a value
	count   int    // number of rows with a value
}

// next begins a row.
func (t *table) next() { t.rows++ }

// mark marks the last row as having a value in column c. It allocates the column's memory if that is missing.
func (t *table) mark(c int) *column {
	col := &t.columns[c]
	if col.valid == nil {
		col.valid = make([]byte, maxRows/8)
		switch typ := fields[c].typ; {
		case typ.text():
			col.offsets = make([]byte, 4, 4*(maxRows+1))
		case typ == typeBool:
			col.data = make([]byte, maxRows/8)
		default:
			col.data = make([]byte, maxRows*typ.width())
		}
	}
	row := t.rows - 1
	col.valid[row>>3] |= 1 << (row & 7)
	col.count++
	return col
}

func (t *table) set64(c int, v uint64) {
	binary.LittleEndian.PutUint64(t.mark(c).data[8*(t.rows-1):], v)
}

func (t *table) set32(c int, v uint32) {
	binary.LittleEndian.PutUint32(t.mark(c).data[4*(t.rows-1):], v)
}

// set64Unless0 and set32Unless0 set no zeros: in their columns null means zero.
func (t *table) set64Unless0(c int, v uint64) {
	if v != 0 {
		t.set64(c, v)
	}
}

func (t *table) set32Unless0(c int, v uint32) {
	if v != 0 {
		t.set32(c, v)
	}
}

func (t *table) setBool(c int, v bool) {
	col := t.mark(c)
	if v {
		row := t.rows - 1
		col.data[row>>3] |= 1 << (row & 7)
	}
}

func (t *table) setText(c int, s string) {
	col := t.mark(c)
	col.layOut(t.rows - 1)
	col.data = append(col.data, s...)
	col.offsets = binary.LittleEndian.AppendUint32(col.offsets, uint32(len(col.data)))
	t.pending += len(s)
}

// layOut completes the offsets of a text column up to row n. Rows without a text get an empty one.
func (c *column) layOut(n int) {
	for len(c.offsets)/4-1 < n {
		c.offsets = binary.LittleEndian.AppendUint32(c.offsets, uint32(len(c.data)))
	}
}

// reset removes all rows, and keeps the memory for the next ones, except that of an unusually long text.
func (t *table) reset() {
	for i := range t.columns {
		c := &t.columns[i]
		if c.count == 0 {
			continue
		}
		clear(c.valid[:bitmapLen(t.rows)])
		switch typ := fields[i].typ; {
		case !typ.text() && typ != typeBool:
			clear(c.data[:t.rows*typ.width()])
		case typ == typeBool:
			clear(c.data[:bitmapLen(t.rows)])
		case cap(c.data) > maxPending:
			c.data, c.offsets = nil, c.offsets[:4]
		default:
			c.data, c.offsets = c.data[:0], c.offsets[:4]
		}
		c.count = 0
	}
	t.rows, t.pending = 0, 0
}

func bitmapLen(rows int) int { return (rows + 7) / 8 }
