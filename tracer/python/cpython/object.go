package cpython

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"
)

const (
	maxString   = 256 // bytes of any string read from the process
	maxTypeName = 128
)

// knownType is a built-in type. Its address is learnt from the first object whose type has the name: the
// address of the symbol may not be it, where a program that links to libpython has its own copy
// (R_X86_64_COPY).
type knownType struct {
	name string
	addr uint64
}

// isType says whether t is the address of a known type.
func (p *Interpreter) isType(t uint64, k *knownType) bool {
	if k.addr != 0 || t == 0 {
		return k.addr == t && t != 0
	}
	if name, err := p.nameOf(t); err != nil || name != k.name {
		return false
	}
	k.addr = t
	return true
}

// isA says whether an object is of exactly a known type.
func (p *Interpreter) isA(obj uint64, k *knownType) bool {
	t, err := p.mem.word(obj + uint64(p.off.ObjectType))
	return err == nil && p.isType(t, k)
}

// stringIs says whether the object is a str (not of a subclass) equal to an ASCII name. One read.
func (p *Interpreter) stringIs(obj uint64, name string) bool {
	header := int(p.off.ASCIIData)
	const longest = 56 // header
	var buf [longest + maxString]byte
	if len(name) > maxString || header > longest {
		return false
	}
	// An object shorter than what is asked for may end where its mapping ends: then less comes back, and
	// its length already tells it apart.
	n, _ := p.mem.read(obj, buf[:header+len(name)])
	if n < header+len(name) || !p.isType(binary.LittleEndian.Uint64(buf[p.off.ObjectType:]), &p.types.str) {
		return false
	}
	_, compact, ascii := p.off.Text(binary.LittleEndian.Uint32(buf[p.off.StrState:]))
	return binary.LittleEndian.Uint64(buf[p.off.StrLength:]) == uint64(len(name)) && compact && ascii &&
		string(buf[header:header+len(name)]) == name
}

// text reads a str: at most maxString bytes of its data, as UTF-8. Two reads.
func (p *Interpreter) text(obj uint64) (string, error) {
	raw, kind, _ := p.characters(obj, maxString)
	if raw == nil {
		return "", fmt.Errorf("str at %#x: %w", obj, ErrMalformed)
	}
	return DecodeText(raw, kind), nil
}

// DecodeText turns Latin-1, UCS-2 or UCS-4 (1, 2 or 4 bytes a character, as kind says) into UTF-8. What is not a character becomes U+FFFD.
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
func (p *Interpreter) typeName(obj uint64) (string, error) {
	t, err := p.mem.word(obj + uint64(p.off.ObjectType))
	if err != nil {
		return "", err
	}
	return p.nameOf(t)
}

// nameOf reads the tp_name of the type at an address.
func (p *Interpreter) nameOf(t uint64) (string, error) {
	name, err := p.mem.word(t + uint64(p.off.TypeName))
	if err != nil {
		return "", err
	}
	return p.mem.cString(name, maxTypeName)
}
