package objects

import (
	"strconv"
	"strings"

	"ipytracer/internal/python/cpython"
)

// Text reads a str: at most limit bytes of its data, as UTF-8. ok is false for an object that is no str.
func (r Reader) Text(obj uint64, limit int) (s string, ok bool) {
	t := r.ObjectType(obj)
	if t == nil || t.Flags&cpython.FlagStr == 0 {
		return "", false
	}
	h := &r.Heap
	length, state := r.Mem.Word(obj+uint64(h.StrLength)), uint32(r.Mem.Int32(obj+uint64(h.StrState)))
	at, kind, ok := h.Characters(state)
	if !ok {
		return "", false
	}
	raw := r.Mem.Bytes(obj+at, int(min(length, uint64(limit)/kind)*kind))
	if raw == nil && length > 0 {
		return "", false
	}
	return cpython.DecodeText(raw, int(kind)), true
}

// isText reports whether an object is a str that equals an ASCII name.
func (r Reader) isText(obj uint64, name string) bool {
	if r.Mem.Word(obj+uint64(r.Heap.StrLength)) != uint64(len(name)) {
		return false
	}
	s, ok := r.Text(obj, len(name))
	return ok && s == name
}

// Key writes a dict's key as Python does, if the key is a str, an int or a small tuple of these. It writes <type> for
// another object.
func (r Reader) Key(obj uint64, depth int) string {
	const longest, items = 64, 4
	t := r.ObjectType(obj)
	switch {
	case t == nil:
		return "?"
	case t.Flags&cpython.FlagStr != 0:
		s, _ := r.Text(obj, longest)
		return Quote(s)
	case t.Flags&cpython.FlagInt != 0:
		if n, ok := r.Integer(obj); ok {
			return strconv.FormatInt(n, 10)
		}
	case t.Flags&cpython.FlagTuple != 0 && depth == 0:
		parts := []string{}
		for _, item := range r.Tuple(obj, items+1) {
			parts = append(parts, r.Key(item, depth+1))
		}
		if len(parts) > items {
			parts[items] = "…"
		}
		if len(parts) == 1 {
			return "(" + parts[0] + ",)"
		}
		return "(" + strings.Join(parts, ", ") + ")"
	}
	return "<" + t.Name + ">"
}

// Quote writes a string as Python does, with single quotes.
func Quote(s string) string {
	q := strconv.Quote(s)
	return "'" + strings.ReplaceAll(strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`), "'", `\'`) + "'"
}

// Integer reads an int of at most two digits of 30 bits, which are at 24. The word at 16 has the number of digits: up
// to 3.11 it is ob_size, negative for a negative number; from 3.12 on it is lv_tag, with the sign in its two lowest
// bits (2 is negative) and the number of digits from bit 3 on (Include/cpython/longintrepr.h).
func (r Reader) Integer(obj uint64) (n int64, ok bool) {
	tag := int64(r.Mem.Word(obj + 16))
	digits, negative := tag, tag < 0
	if r.Heap.Version.Minor >= 12 {
		digits, negative = tag>>3, tag&3 == 2
	} else if negative {
		digits = -digits
	}
	if digits < 0 || digits > 2 {
		return 0, false
	}
	for i := digits - 1; i >= 0; i-- {
		n = n<<30 | int64(r.Mem.Int32(obj+24+4*uint64(i)))
	}
	if negative {
		n = -n
	}
	return n, true
}

// IsNumber reports whether an object is an int.
func (r Reader) IsNumber(addr uint64) bool {
	t := r.ObjectType(addr)
	return t != nil && t.Flags&cpython.FlagInt != 0
}
