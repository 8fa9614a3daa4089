package export

import (
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// message is a message of protocol buffers that is built field by field. Reports are too long to be first built as a
// tree of objects.
type message []byte

// wireField is the number of a field.
type wireField = protowire.Number

// Int adds a number, but leaves out 0, the default.
func (m *message) Int(field wireField, n int64) {
	if n != 0 {
		m.Number(field, n)
	}
}

// Number adds a number, even 0.
func (m *message) Number(field wireField, n int64) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), uint64(n))
}

// Text adds a text, and replaces what is not valid UTF-8.
func (m *message) Text(field wireField, s string) {
	*m = protowire.AppendString(protowire.AppendTag(*m, field, protowire.BytesType), strings.ToValidUTF8(s, "\ufffd"))
}

// Embed adds a message.
func (m *message) Embed(field wireField, inner message) {
	*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), inner)
}

// Packed adds a repeated number.
func (m *message) Packed(field wireField, numbers []int64) {
	size := 0
	for _, n := range numbers {
		size += protowire.SizeVarint(uint64(n))
	}
	*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.BytesType), uint64(size))
	for _, n := range numbers {
		*m = protowire.AppendVarint(*m, uint64(n))
	}
}
