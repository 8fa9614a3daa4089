package holders

import (
	"encoding/binary"
	"strings"

	"ipytracer/tracer/cpython"
)

// member is a word of an instance that has a name: a slot, or what a C type exports.
type member struct {
	at   uint64
	name string
}

// readMembers reads an array of PyMemberDef (Include/structmember.h, descrobject.h from 3.12): name, type, offset, flags
// and doc, 40 bytes; it ends with a null name.
func (w *walker) readMembers(addr uint64) (out []member) {
	const size = 40
	if addr == 0 {
		return out
	}
	for range maxMembers {
		raw := w.mem.bytes(addr, size)
		if raw == nil {
			break
		}
		name, at := binary.LittleEndian.Uint64(raw), binary.LittleEndian.Uint64(raw[16:])
		if name == 0 {
			break
		}
		if text := w.mem.cString(name, maxName); text != "" && at < maxBasic {
			out = append(out, member{at, strings.ToValidUTF8(text, "?")})
		}
		addr += size
	}
	return out
}

// memberAt names a word of an instance, by the type or one of its bases; "" for none.
func (w *walker) memberAt(t *typ, at uint64) string {
	for addr, n := t.addr, 0; addr != 0 && n < maxBases; n++ {
		known := w.typeAt(addr)
		if known == nil {
			break
		}
		for _, m := range known.members {
			if m.at == at {
				return m.name
			}
		}
		next := w.mem.word(addr + cpython.TypeBase)
		if next == addr {
			break
		}
		addr = next
	}
	return ""
}
