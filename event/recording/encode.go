package recording

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strconv"

	flatbuffers "github.com/google/flatbuffers/go"
	"github.com/klauspost/compress/zstd"
)

// The numbers of Arrow's Message.fbs and Schema.fbs that a recording uses.
const (
	metadataV5 = 4

	headerSchema      = 1
	headerRecordBatch = 3

	codecZSTD = 1

	arrowInt    = 2
	arrowBinary = 4
	arrowUTF8   = 5
	arrowBool   = 6
)

// continuation begins every message; endMark is the message that ends a stream.
var (
	continuation = [4]byte{0xff, 0xff, 0xff, 0xff}
	endMark      = [8]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}
)

// encoder turns tables into Arrow messages. Each message is valid until the next call.
type encoder struct {
	fb      *flatbuffers.Builder
	zstd    *zstd.Encoder
	number  uint64 // of the next message
	head    []byte
	body    []byte
	buffers [][2]int64 // offset and length in body
}

func newTableEncoder() (*encoder, error) {
	z, err := newEncoder()
	if err != nil {
		return nil, err
	}
	return &encoder{fb: flatbuffers.NewBuilder(8 << 10), zstd: z}, nil
}

// schema returns the first message of every recording.
func (e *encoder) schema(version string) []byte {
	b := e.fb
	b.Reset()
	offsets := make([]flatbuffers.UOffsetT, colCount)
	for i, f := range fields {
		offsets[i] = e.field(f)
	}
	list := b.CreateVectorOfTables(offsets)
	meta := b.CreateVectorOfTables([]flatbuffers.UOffsetT{
		e.keyValue(keyFormat, b.CreateString(strconv.Itoa(Format))),
		e.keyValue(keyVersion, b.CreateString(version)),
	})
	b.StartObject(4)
	b.PrependUOffsetTSlot(1, list, 0)
	b.PrependUOffsetTSlot(2, meta, 0)
	e.body = e.body[:0]
	return e.message(headerSchema, b.EndObject())
}

func (e *encoder) field(f field) flatbuffers.UOffsetT {
	b := e.fb
	name := b.CreateString(f.name)
	b.StartVector(4, 0, 4)
	children := b.EndVector(0)

	var kind byte
	switch f.typ {
	case typeBool, typeUTF8, typeBinary:
		kind = map[dataType]byte{typeBool: arrowBool, typeUTF8: arrowUTF8, typeBinary: arrowBinary}[f.typ]
		b.StartObject(0)
	default:
		kind = arrowInt
		b.StartObject(2)
		b.PrependInt32Slot(0, int32(8*f.typ.width()), 0)
		b.PrependBoolSlot(1, f.typ == typeInt32 || f.typ == typeInt64, false)
	}
	typ := b.EndObject()

	b.StartObject(7)
	b.PrependUOffsetTSlot(0, name, 0)
	b.PrependBoolSlot(1, !f.required, false)
	b.PrependByteSlot(2, kind, 0)
	b.PrependUOffsetTSlot(3, typ, 0)
	b.PrependUOffsetTSlot(5, children, 0)
	return b.EndObject()
}

func (e *encoder) keyValue(key string, value flatbuffers.UOffsetT) flatbuffers.UOffsetT {
	b := e.fb
	k := b.CreateString(key)
	b.StartObject(2)
	b.PrependUOffsetTSlot(0, k, 0)
	b.PrependUOffsetTSlot(1, value, 0)
	return b.EndObject()
}

// batch returns the message with the rows of t, in two parts to be written one after the other.
func (e *encoder) batch(t *table) (head, body []byte) {
	e.body, e.buffers = e.body[:0], e.buffers[:0]
	for i := range t.columns {
		t.columns[i].layOutAll(fields[i].typ, t.rows)
		e.column(fields[i], &t.columns[i], t.rows)
	}
	b := e.fb
	b.Reset()
	b.StartVector(16, len(e.buffers), 8)
	for i := len(e.buffers) - 1; i >= 0; i-- {
		b.PrependInt64(e.buffers[i][1])
		b.PrependInt64(e.buffers[i][0])
	}
	buffers := b.EndVector(len(e.buffers))
	b.StartVector(16, colCount, 8)
	for i := colCount - 1; i >= 0; i-- {
		b.PrependInt64(int64(t.rows - t.columns[i].count))
		b.PrependInt64(int64(t.rows))
	}
	nodes := b.EndVector(colCount)
	b.StartObject(2)
	b.PrependByteSlot(0, codecZSTD, 0)
	compression := b.EndObject()
	b.StartObject(5)
	b.PrependInt64Slot(0, int64(t.rows), 0)
	b.PrependUOffsetTSlot(1, nodes, 0)
	b.PrependUOffsetTSlot(2, buffers, 0)
	b.PrependUOffsetTSlot(3, compression, 0)
	return e.message(headerRecordBatch, b.EndObject()), e.body
}

// layOutAll completes the offsets of a text column up to the last row of the table.
func (c *column) layOutAll(typ dataType, rows int) {
	if typ.text() && c.count > 0 {
		c.layOut(rows)
	}
}

// column appends the buffers of one column to the body.
func (e *encoder) column(f field, c *column, rows int) {
	full := rows * f.typ.width()
	if f.typ == typeBool {
		full = bitmapLen(rows)
	}
	if c.count == 0 {
		e.zeros(bitmapLen(rows))
		if f.typ.text() {
			e.zeros(4 * (rows + 1))
		}
		e.zeros(full)
		return
	}
	if c.count == rows {
		e.zeros(0) // Arrow leaves out a bitmap without a zero
	} else {
		e.buffer(c.valid[:bitmapLen(rows)], true)
	}
	if f.typ.text() {
		e.buffer(c.offsets, true)
		e.buffer(c.data, true)
		return
	}
	// A mostly empty column is compressed: that takes almost no time, and shrinks it to almost nothing.
	e.buffer(c.data[:full], 2*c.count < rows)
}

func (e *encoder) zeros(n int) {
	e.add(n, func(dst []byte) []byte { return appendZeros(dst, n) })
}

func (e *encoder) buffer(p []byte, compress bool) {
	e.add(len(p), func(dst []byte) []byte {
		if compress && len(p) >= 64 {
			return e.zstd.EncodeAll(p, dst)
		}
		return appendRaw(dst, p)
	})
}

// add appends one buffer of n bytes to the body: its length, the zstd frame that the function frame appends, and
// padding to 8 bytes.
func (e *encoder) add(n int, frame func([]byte) []byte) {
	begin := len(e.body)
	if n > 0 {
		e.body = frame(binary.LittleEndian.AppendUint64(e.body, uint64(n)))
	}
	e.buffers = append(e.buffers, [2]int64{int64(begin), int64(len(e.body) - begin)})
	for len(e.body)%8 != 0 {
		e.body = append(e.body, 0)
	}
}

// message returns the part of a message before its body, and writes the checksum of both into it.
func (e *encoder) message(kind byte, header flatbuffers.UOffsetT) []byte {
	b := e.fb
	crc := b.CreateString(blankCRC)
	number := b.CreateString(strconv.FormatUint(e.number, 10))
	e.number++
	meta := b.CreateVectorOfTables([]flatbuffers.UOffsetT{e.keyValue(keyCRC, crc), e.keyValue(keyNumber, number)})
	b.StartObject(5)
	b.PrependInt16Slot(0, metadataV5, 0)
	b.PrependByteSlot(1, kind, 0)
	b.PrependUOffsetTSlot(2, header, 0)
	b.PrependInt64Slot(3, int64(len(e.body)), 0)
	b.PrependUOffsetTSlot(4, meta, 0)
	b.Finish(b.EndObject())
	fb := b.FinishedBytes()
	at := len(fb) - int(crc) + 4 // behind the string's length; offsets count from the end

	padded := (len(fb) + 7) &^ 7
	e.head = append(e.head[:0], continuation[:]...)
	e.head = binary.LittleEndian.AppendUint32(e.head, uint32(padded))
	e.head = append(e.head, fb...)
	for len(e.head) < 8+padded {
		e.head = append(e.head, 0)
	}
	sum := crc32.Update(crc32.Checksum(e.head[8:], castagnoli), castagnoli, e.body)
	copy(e.head[8+at:], fmt.Sprintf("%08x", sum))
	return e.head
}
