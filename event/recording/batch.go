package recording

import (
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// batch has the decoded columns of one message. The next message uses its memory again.
type batch struct {
	zstd    *zstd.Decoder
	rows    int
	texts   int // bytes of text that the message may still have
	taken   int // bytes of text of all events so far
	columns [colCount]cells
	names   names
	chunk   *chunk // for the events, nil if the receiver may keep each
}

// cells is one column of a batch. Its buffers are at least as long as the rows need.
type cells struct {
	data    []byte
	offsets []byte
	valid   []byte
	nulls   int // number of null rows
	size    int // rows
}

// load decodes a message.
func (b *batch) load(s *schema, msg message) (err error) {
	defer recoverDamage(&err)
	if msg.kind != headerRecordBatch {
		return fmt.Errorf("%w: a message of another kind", errDamaged)
	}
	rows := msg.header.int64(0)
	if rows < 0 || rows > maxReadRows {
		return fmt.Errorf("%w: a batch of %d rows", errDamaged, rows)
	}
	b.rows, b.texts = int(rows), maxReadText
	if codec := msg.header.table(3); codec.byte(0) != codecZSTD || codec.byte(1) != 0 {
		return fmt.Errorf("%w: an unknown compression", errDamaged)
	}
	nodes, n := msg.header.vector(1, 16)
	if n != len(s.types) {
		return fmt.Errorf("%w: a batch of %d columns", errDamaged, n)
	}
	buffers, _ := msg.header.vector(2, 16)
	for i := range b.columns {
		b.columns[i].nulls, b.columns[i].size = b.rows, b.rows // columns that the file lacks stay so
	}
	for i, typ := range s.types {
		nulls := int64(binary.LittleEndian.Uint64(nodes[16*i+8:]))
		count := typ.buffers()
		if place := s.column[i]; place >= 0 {
			if err := b.loadColumn(&b.columns[place], typ, nulls, buffers[:16*count], msg.body); err != nil {
				return fmt.Errorf("column %s: %w", fields[place].name, err)
			}
			if fields[place].required && nulls != 0 {
				return fmt.Errorf("%w: column %s has nulls", errDamaged, fields[place].name)
			}
		}
		buffers = buffers[16*count:]
	}
	return nil
}

func (b *batch) loadColumn(c *cells, typ dataType, nulls int64, buffers, body []byte) (err error) {
	if nulls < 0 || nulls > int64(b.rows) {
		return fmt.Errorf("%w: %d nulls", errDamaged, nulls)
	}
	if c.nulls = int(nulls); c.nulls == b.rows {
		return nil
	}
	part := func(i int) []byte {
		at, n := binary.LittleEndian.Uint64(buffers[16*i:]), binary.LittleEndian.Uint64(buffers[16*i+8:])
		return body[at:][:n]
	}
	if c.nulls > 0 {
		if c.valid, err = unframe(b.zstd, c.valid, part(0), bitmapLen(b.rows)); err != nil {
			return err
		}
	}
	if !typ.text() {
		size := b.rows * typ.width()
		if typ == typeBool {
			size = bitmapLen(b.rows)
		}
		c.data, err = unframe(b.zstd, c.data, part(1), size)
		return err
	}
	if c.offsets, err = unframe(b.zstd, c.offsets, part(1), 4*(b.rows+1)); err != nil {
		return err
	}
	size := int(binary.LittleEndian.Uint32(c.offsets[4*b.rows:]))
	if b.texts -= size; b.texts < 0 {
		return fmt.Errorf("%w: more than %d bytes of text", errDamaged, maxReadText)
	}
	if size == 0 {
		c.data = c.data[:0]
		return nil
	}
	c.data, err = unframe(b.zstd, c.data, part(2), size)
	return err
}

// null reports whether the column has no value in a row.
func (c *cells) null(row int) bool {
	if c.nulls == 0 {
		return false
	}
	return c.nulls == c.size || c.valid[row>>3]&(1<<(row&7)) == 0
}

// get64, get32, truth and text return the value in a row; zero if the row has none.
func (c *cells) get64(row int) uint64 {
	if c.null(row) {
		return 0
	}
	return binary.LittleEndian.Uint64(c.data[8*row:])
}

func (c *cells) get32(row int) uint32 {
	if c.null(row) {
		return 0
	}
	return binary.LittleEndian.Uint32(c.data[4*row:])
}

func (c *cells) truth(row int) bool {
	return !c.null(row) && c.data[row>>3]&(1<<(row&7)) != 0
}

func (c *cells) text(row int) []byte {
	if c.null(row) {
		return nil
	}
	return c.data[binary.LittleEndian.Uint32(c.offsets[4*row:]):binary.LittleEndian.Uint32(c.offsets[4*row+4:])]
}

// names remembers strings that were read: the same few occur again and again.
type names struct {
	known map[string]string // by the string's form in JSON, which may have escapes
}

// text returns the string whose form in JSON, without the quotes, is written. It remembers short strings.
func (n *names) text(written []byte) string {
	if name, known := n.known[string(written)]; known {
		return name
	}
	text := string(written)
	name := markup.Replace(text)
	isShort := len(text) <= maxName
	if !isShort {
		return name
	}
	if n.known == nil || len(n.known) >= maxNames { // a full map is emptied
		n.known = make(map[string]string)
	}
	n.known[text] = name
	return name
}
