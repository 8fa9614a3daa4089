package holders

import (
	"encoding/binary"
	"strings"
)

// member is a word of an instance that has a name: a slot, or a member that a C type exports.
type member struct {
	at     uint64
	name   string
	object bool // it owns the object that it refers to: T_OBJECT, T_OBJECT_EX
}

// readMembers reads an array of PyMemberDef (Include/structmember.h, descrobject.h from 3.12): name, type, offset,
// flags and doc, 40 bytes; it ends with a null name.
func (y *types) readMembers(addr uint64) (out []member) {
	const size = 40
	if addr == 0 {
		return out
	}
	defer y.mem.description()()
	for range maxMembers {
		raw := y.mem.bytes(addr, size)
		if raw == nil {
			break
		}
		const object, objectOrError = 6, 16
		name, at := binary.LittleEndian.Uint64(raw), binary.LittleEndian.Uint64(raw[16:])
		kind := binary.LittleEndian.Uint32(raw[8:])
		if name == 0 {
			break
		}
		if text := y.mem.cString(name, maxName); text != "" && at < maxBasic {
			out = append(out, member{at, strings.ToValidUTF8(text, "?"), kind == object || kind == objectOrError})
		}
		addr += size
	}
	return out
}

// memberAt names a word of an instance, by the type or one of its bases; "" for none.
func (y *types) memberAt(t *typ, at uint64) string {
	m, _ := y.member(t, at)
	return m.name
}

// isSlot reports whether a word of an instance is declared to own an object.
func (y *types) isSlot(t *typ, at uint64) bool {
	m, ok := y.member(t, at)
	return ok && m.object
}

func (y *types) member(t *typ, at uint64) (m member, ok bool) {
	for addr, n := t.addr, 0; addr != 0 && n < maxBases; n++ {
		known := y.typeAt(addr)
		if known == nil {
			break
		}
		for _, m := range known.members {
			if m.at == at {
				return m, true
			}
		}
		if known.up == addr {
			break
		}
		addr = known.up
	}
	return m, false
}
