package objects

import (
	"encoding/binary"
	"iter"
	"slices"
	"strings"
)

// member is a word of an instance that has a name: a slot, or a member that a C type exports.
type member struct {
	at     uint64 // the offset in the instance
	name   string
	object bool // the word owns the object that it refers to: T_OBJECT, T_OBJECT_EX
}

// readMembers reads an array of PyMemberDef (Include/structmember.h, descrobject.h from 3.12): name, type, offset,
// flags and doc, 40 bytes; it ends with a null name.
func (y *Types) readMembers(addr uint64) (out []member) {
	const size = 40
	if addr == 0 {
		return out
	}
	defer y.Mem.description()()
	for range maxMembers {
		raw := y.Mem.Bytes(addr, size)
		if raw == nil {
			break
		}
		const object, objectOrError = 6, 16
		name, at := binary.LittleEndian.Uint64(raw), binary.LittleEndian.Uint64(raw[16:])
		kind := binary.LittleEndian.Uint32(raw[8:])
		if name == 0 {
			break
		}
		if text := y.Mem.cString(name, MaxName); text != "" && at < MaxBasic {
			out = append(out, member{at, strings.ToValidUTF8(text, "?"), kind == object || kind == objectOrError})
		}
		addr += size
	}
	return out
}

// MemberAt returns the name of the word at an offset of an instance, by the type or one of its bases; "" for none.
func (y *Types) MemberAt(t *Type, at uint64) string {
	m, _ := y.member(t, at)
	return m.name
}

// IsSlot reports whether a word of an instance is declared to own an object.
func (y *Types) IsSlot(t *Type, at uint64) bool {
	m, ok := y.member(t, at)
	return ok && m.object
}

func (y *Types) member(t *Type, at uint64) (m member, ok bool) {
	for base := range y.Bases(t) {
		if i := slices.IndexFunc(base.members, func(m member) bool { return m.at == at }); i >= 0 {
			return base.members[i], true
		}
	}
	return m, false
}

// Bases yields a type, the first base of the type, the first base of that base, and so on.
func (y *Types) Bases(t *Type) iter.Seq[*Type] {
	return func(yield func(*Type) bool) {
		for n := 0; t != nil && n < maxBases && yield(t) && t.firstBase != t.Addr; n++ {
			t = y.typeAt(t.firstBase)
		}
	}
}
