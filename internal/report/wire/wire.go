// Package wire writes messages of protocol buffers field by field, for formats that are too long to be held as a tree
// of objects. The meaning of field numbers belongs to the writer of a format; reading messages does not belong here.
package wire

import (
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// Message is an unfinished message.
type Message []byte

// Field is the number of a field.
type Field = protowire.Number

// Int adds a number; the default, 0, is left out.
func (m *Message) Int(field Field, n int64) {
	if n != 0 {
		m.Number(field, n)
	}
}

// Number adds a number, even 0.
func (m *Message) Number(field Field, n int64) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), uint64(n))
}

// Text adds a text, which is made valid UTF-8.
func (m *Message) Text(field Field, s string) {
	*m = protowire.AppendString(protowire.AppendTag(*m, field, protowire.BytesType), strings.ToValidUTF8(s, "\ufffd"))
}

// Embed adds a message.
func (m *Message) Embed(field Field, inner Message) {
	*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), inner)
}

// Packed adds numbers, one after another.
func (m *Message) Packed(field Field, all []int64) {
	size := 0
	for _, n := range all {
		size += protowire.SizeVarint(uint64(n))
	}
	*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.BytesType), uint64(size))
	for _, n := range all {
		*m = protowire.AppendVarint(*m, uint64(n))
	}
}
