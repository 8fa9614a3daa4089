package export

import (
	"bufio"
	"encoding/binary"
	"strings"
)

// pickle writes dictionaries, lists, texts and numbers in protocol 2 of Python's pickle. Its Flush returns the writer's
// first error.
type pickle struct{ *bufio.Writer }

// Codes of the protocol.
const (
	opProto, opStop                  = 0x80, '.'
	opDict, opList, opMark           = '}', ']', '('
	opItems, opAppends               = 'u', 'e'
	opText, opInt, opLong1, protocol = 'X', 'J', 0x8a, 2
)

// begin writes the head.
func (p *pickle) begin() { p.Write([]byte{opProto, protocol}) }

// end writes the end.
func (p *pickle) end() { p.WriteByte(opStop) }

// dict writes a dictionary; within writes its keys and values in turn.
func (p *pickle) dict(within func()) {
	p.Write([]byte{opDict, opMark})
	within()
	p.WriteByte(opItems)
}

// list writes a list; within writes its items.
func (p *pickle) list(within func()) {
	p.Write([]byte{opList, opMark})
	within()
	p.WriteByte(opAppends)
}

// text writes a text, and replaces what is not valid UTF-8.
func (p *pickle) text(s string) {
	s = strings.ToValidUTF8(s, "\ufffd")
	var length [4]byte
	binary.LittleEndian.PutUint32(length[:], uint32(len(s)))
	p.WriteByte(opText)
	p.Write(length[:])
	p.WriteString(s)
}

// number writes a number, in 4 bytes if these are enough.
func (p *pickle) number(n int64) {
	var b [8]byte
	if n == int64(int32(n)) {
		binary.LittleEndian.PutUint32(b[:4], uint32(n))
		p.WriteByte(opInt)
		p.Write(b[:4])
		return
	}
	binary.LittleEndian.PutUint64(b[:], uint64(n))
	p.Write([]byte{opLong1, 8})
	p.Write(b[:])
}

// field writes a key and a number.
func (p *pickle) field(key string, n int64) {
	p.text(key)
	p.number(n)
}

// named writes a key and a text.
func (p *pickle) named(key, s string) {
	p.text(key)
	p.text(s)
}
