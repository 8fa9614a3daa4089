package recording

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"

	flatbuffers "github.com/google/flatbuffers/go"
)

// message is one Arrow message as it lies in the file.
type message struct {
	kind   byte
	header fbTable
	body   []byte
}

// errEnd says that the stream has its end mark here: the writer closed it.
var errEnd = errors.New("end mark")

// messageReader reads the messages of a stream. It reads piece by piece, so that a wrong length costs no more memory
// than the stream has bytes.
type messageReader struct {
	r         io.Reader
	offset    int64  // of the current message, or else the next one
	number    uint64 // of that message
	numbered  bool   // the recording's messages have numbers
	meta      bytes.Buffer
	body      bytes.Buffer
	ignoreCRC bool // for fuzzing: accept a wrong checksum
}

// next reads one message, which is valid until the next call. It fails with
//   - io.EOF if the stream ends between two messages,
//   - io.ErrUnexpectedEOF if it ends within a message,
//   - errEnd at the end mark,
//   - errDamaged if no message begins here, or if it is damaged,
//   - and else with the underlying reader's error.
func (m *messageReader) next() (msg message, err error) {
	var prefix [8]byte
	if _, err := io.ReadFull(m.r, prefix[:]); err != nil {
		return msg, err
	}
	if prefix == endMark {
		return msg, errEnd
	}
	size := int64(binary.LittleEndian.Uint32(prefix[4:]))
	if !bytes.HasPrefix(prefix[:], continuation[:]) || size > maxReadMeta || size < 8 {
		return msg, fmt.Errorf("%w: no message begins here", errDamaged)
	}
	if err := fill(&m.meta, m.r, size); err != nil {
		return msg, err
	}
	length, err := m.parse(&msg)
	if err != nil {
		return msg, err
	}
	if err := fill(&m.body, m.r, length); err != nil {
		return msg, err
	}
	msg.body = m.body.Bytes()
	if err := m.check(msg); err != nil {
		return msg, err
	}
	m.offset += 8 + size + length
	m.number++
	return msg, nil
}

// parse reads a message's metadata and returns the length of its body.
func (m *messageReader) parse(msg *message) (length int64, err error) {
	defer recoverDamage(&err)
	root := rootTable(m.meta.Bytes())
	msg.kind = root.byte(1)
	msg.header = root.table(2)
	length = root.int64(3)
	if length < 0 || length > maxReadBody || length%8 != 0 {
		return 0, fmt.Errorf("%w: a message of %d bytes", errDamaged, length)
	}
	return length, nil
}

// check compares a message with its checksum and its number.
func (m *messageReader) check(msg message) (err error) {
	defer recoverDamage(&err)
	if m.ignoreCRC {
		return nil
	}
	pairs := rootTable(m.meta.Bytes()).pairs(4)
	sum := pairs[keyCRC]
	want, err := strconv.ParseUint(string(sum), 16, 32)
	if err != nil || len(sum) != len(blankCRC) {
		return fmt.Errorf("%w: a message without a checksum", errDamaged)
	}
	copy(sum, blankCRC)
	if crc32.Update(crc32.Checksum(m.meta.Bytes(), castagnoli), castagnoli, msg.body) != uint32(want) {
		return fmt.Errorf("%w: a checksum does not match", errDamaged)
	}
	return m.checkNumber(string(pairs[keyNumber]))
}

// checkNumber refuses a message out of order: messages are missing, swapped or doubled. Old recordings have no numbers.
func (m *messageReader) checkNumber(number string) error {
	if m.number == 0 {
		m.numbered = number != ""
	}
	if m.numbered && number != strconv.FormatUint(m.number, 10) {
		return fmt.Errorf("%w: a message is not in its place", errDamaged)
	}
	return nil
}

// fill reads exactly n bytes into b. It fails with io.ErrUnexpectedEOF if the stream ends earlier.
func fill(b *bytes.Buffer, r io.Reader, n int64) error {
	b.Reset()
	got, err := io.CopyN(b, r, n)
	if err == io.EOF && got < n {
		return io.ErrUnexpectedEOF
	}
	return err
}

// recoverDamage turns a panic, by an index that points out of a message, into an error.
func recoverDamage(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%w: a message is inconsistent", errDamaged)
	}
}

// fbTable is a FlatBuffers table from an untrusted file. Its methods panic if an offset points outside of the file's
// bytes, so each caller defers recoverDamage.
type fbTable struct{ flatbuffers.Table }

func rootTable(b []byte) fbTable {
	return fbTable{flatbuffers.Table{Bytes: b, Pos: flatbuffers.GetUOffsetT(b)}}
}

// slot returns the offset of field i of the table; 0 if the field is missing.
func (t fbTable) slot(i int) flatbuffers.UOffsetT {
	o := t.Offset(flatbuffers.VOffsetT(4 + 2*i))
	if o == 0 {
		return 0
	}
	return t.Pos + flatbuffers.UOffsetT(o)
}

func (t fbTable) byte(i int) byte {
	if at := t.slot(i); at != 0 {
		return t.GetByte(at)
	}
	return 0
}

func (t fbTable) int32(i int) int32 {
	if at := t.slot(i); at != 0 {
		return t.GetInt32(at)
	}
	return 0
}

func (t fbTable) int64(i int) int64 {
	if at := t.slot(i); at != 0 {
		return t.GetInt64(at)
	}
	return 0
}

func (t fbTable) table(i int) fbTable {
	at := t.slot(i)
	if at == 0 {
		panic("missing table")
	}
	return fbTable{flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(at)}}
}

// bytes returns the string in field i, not copied.
func (t fbTable) bytes(i int) []byte {
	if at := t.slot(i); at != 0 {
		return t.ByteVector(at)
	}
	return nil
}

// vector returns the elements of field i, each of the given size, and their number.
func (t fbTable) vector(i, size int) ([]byte, int) {
	at := t.slot(i)
	if at == 0 {
		return nil, 0
	}
	n := t.VectorLen(at - t.Pos)
	if n > len(t.Bytes) {
		panic("vector too long")
	}
	begin := int(t.Vector(at - t.Pos))
	return t.Bytes[begin : begin+n*size], n
}

// tables returns the vector of tables in field i.
func (t fbTable) tables(i int) []fbTable {
	_, n := t.vector(i, 4)
	if n > maxReadFields {
		panic("too many elements")
	}
	out := make([]fbTable, n)
	for k := range out {
		at := t.Vector(t.slot(i)-t.Pos) + flatbuffers.UOffsetT(4*k)
		out[k] = fbTable{flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(at)}}
	}
	return out
}

// pairs returns the key-value metadata in field i. It leaves out keys longer than maxKey, and does not copy the values.
func (t fbTable) pairs(i int) map[string][]byte {
	out := make(map[string][]byte)
	for _, kv := range t.tables(i) {
		if key := kv.bytes(0); len(key) <= maxKey {
			out[string(key)] = kv.bytes(1)
		}
	}
	return out
}
