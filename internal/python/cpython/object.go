package cpython

import (
	"encoding/binary"
	"fmt"
	"io"
	"unicode/utf8"
)

const (
	maxString   = 256 // bytes of any string read from the process
	maxTypeName = 128
)

// knownType is a built-in type. Its address is learnt from the first object whose type has the name. The address of the
// ELF symbol is not used: a program that links to libpython may have its own copy of the type (R_…_COPY).
type knownType struct {
	name string
	addr uint64
}

// objects reads the types of objects, and the contents of strings and dicts.
type objects struct {
	mem    memory
	off    Offsets
	minor  int
	types  struct{ str, dict, list knownType }
	places places
}

func newObjects(off Offsets, minor int, mem io.ReaderAt) objects {
	o := objects{mem: memory{mem}, off: off, minor: minor}
	o.types.str.name, o.types.dict.name, o.types.list.name = "str", "dict", "list"
	return o
}

// isType reports whether t is the address of a known type.
func (o *objects) isType(t uint64, k *knownType) bool {
	if k.addr != 0 || t == 0 {
		return k.addr == t && t != 0
	}
	if name, err := o.typeNameAt(t); err != nil || name != k.name {
		return false
	}
	k.addr = t
	return true
}

// isA reports whether an object is of exactly a known type.
func (o *objects) isA(obj uint64, k *knownType) bool {
	t, err := o.mem.word(obj + uint64(o.off.ObjectType))
	return err == nil && o.isType(t, k)
}

// stringIs reports whether the object is a str (not of a subclass) equal to an ASCII name. One read.
func (o *objects) stringIs(obj uint64, name string) bool {
	header := int(o.off.ASCIIData)
	const maxHeader = 56
	var buf [maxHeader + maxString]byte
	if len(name) > maxString || header > maxHeader {
		return false
	}
	// An object shorter than the name may end where its mapping ends: then less comes back, and its length already
	// differs.
	n, _ := o.mem.read(obj, buf[:header+len(name)])
	if n < header+len(name) || !o.isType(binary.LittleEndian.Uint64(buf[o.off.ObjectType:]), &o.types.str) {
		return false
	}
	_, compact, ascii := o.off.Text(binary.LittleEndian.Uint32(buf[o.off.StrState:]))
	length := binary.LittleEndian.Uint64(buf[o.off.StrLength:])
	return compact && ascii && length == uint64(len(name)) && string(buf[header:header+len(name)]) == name
}

// text reads a str: at most maxString bytes of its data, as UTF-8. Two reads.
func (o *objects) text(obj uint64) (string, error) {
	raw, kind, _ := o.characters(obj, maxString)
	if raw == nil {
		return "", fmt.Errorf("str at %#x: %w", obj, ErrMalformed)
	}
	return DecodeText(raw, kind), nil
}

// textPrefix reads at most limit bytes of a str's data, as UTF-8: "" for an object that is no str. whole reports
// whether text is the whole str.
func (o *objects) textPrefix(obj uint64, limit int) (text string, whole bool) {
	raw, kind, whole := o.characters(obj, limit)
	return DecodeText(raw, max(kind, 1)), whole
}

// characters reads at most limit bytes of a str's data. kind is the size of a character in bytes, and whole reports
// whether raw is all of the data. raw is nil for an object that is no str.
func (o *objects) characters(obj uint64, limit int) (raw []byte, kind int, whole bool) {
	header := make([]byte, o.off.CompactData)
	if n, err := o.mem.read(obj, header[:o.off.ASCIIData]); err != nil || n < int(o.off.ASCIIData) {
		return nil, 0, false
	}
	if !o.isType(binary.LittleEndian.Uint64(header[o.off.ObjectType:]), &o.types.str) {
		return nil, 0, false
	}
	length := binary.LittleEndian.Uint64(header[o.off.StrLength:])
	state := binary.LittleEndian.Uint32(header[o.off.StrState:])
	at, width, ok := o.off.Characters(state)
	if !ok {
		return nil, 0, false
	}
	kind = int(width)
	raw = make([]byte, min(length, uint64(limit/kind))*uint64(kind))
	if n, err := o.mem.read(obj+at, raw); err != nil || n < len(raw) {
		return nil, 0, false
	}
	return raw, kind, uint64(len(raw)) == length*uint64(kind)
}

// DecodeText turns Latin-1, UCS-2 or UCS-4 (1, 2 or 4 bytes a character, by kind) into UTF-8. Values that are no
// characters become U+FFFD.
func DecodeText(buf []byte, kind int) string {
	out := make([]byte, 0, len(buf))
	for ; len(buf) >= kind; buf = buf[kind:] {
		r := uint32(buf[0])
		switch kind {
		case 2:
			r = uint32(binary.LittleEndian.Uint16(buf))
		case 4:
			r = binary.LittleEndian.Uint32(buf)
		}
		if r > utf8.MaxRune {
			r = utf8.RuneError
		}
		out = utf8.AppendRune(out, rune(r))
	}
	return string(out)
}

// typeName reads the tp_name of an object's type: a dotted name for types made in C, "KeyboardInterrupt"
// and the like otherwise. At most 128 bytes; not checked to be UTF-8.
func (o *objects) typeName(obj uint64) (string, error) {
	t, err := o.mem.word(obj + uint64(o.off.ObjectType))
	if err != nil {
		return "", err
	}
	return o.typeNameAt(t)
}

// typeNameAt reads the tp_name of the type at an address.
func (o *objects) typeNameAt(t uint64) (string, error) {
	name, err := o.mem.word(t + uint64(o.off.TypeName))
	if err != nil {
		return "", err
	}
	return o.mem.cString(name, maxTypeName)
}
