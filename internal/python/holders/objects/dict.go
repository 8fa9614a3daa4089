package objects

import (
	"encoding/binary"

	"ipytracer/internal/python/cpython"
)

// readKeys reads the header of a dict's keys.
func (r Reader) readKeys(addr uint64) (k cpython.Keys, ok bool) {
	head := r.Mem.Bytes(addr, cpython.KeysSize)
	if head == nil {
		return k, false
	}
	return r.Heap.Version.Keys(addr, head)
}

// Entries calls yield for the key and value of each entry of a dict until it returns false.
func (r Reader) Entries(dict uint64, yield func(key, value uint64) bool) {
	k, ok := r.readKeys(r.Mem.Word(dict + uint64(r.Heap.DictKeys)))
	if !ok {
		return
	}
	if values := r.Mem.Word(dict + uint64(r.Heap.DictValues)); values != 0 {
		r.values(k, r.firstValue(values), yield)
		return
	}
	if k.Split {
		return
	}
	for i := uint64(0); i < k.Count; i++ {
		e := r.Mem.Bytes(k.Entries+i*k.Stride+k.Key, 16)
		if e == nil {
			return
		}
		key, value := binary.LittleEndian.Uint64(e), binary.LittleEndian.Uint64(e[8:])
		if key != 0 && value != 0 && !yield(key, value) || r.Stopped != nil {
			return
		}
	}
}

// firstValue returns where the values of a split table begin: from 3.13 on behind a header of 8 bytes.
func (r Reader) firstValue(values uint64) uint64 {
	if r.Heap.Version.Minor >= 13 {
		return values + 8
	}
	return values
}

// values does what [Reader.Entries] does, for a split table.
func (r Reader) values(k cpython.Keys, first uint64, yield func(key, value uint64) bool) {
	const most = 1 << 10 // shared keys have at most 30 entries, before 3.11 some more
	r.Mem.Words(first, min(k.Count, most), func(i, value uint64) bool {
		if value == 0 {
			return true
		}
		key := r.Mem.Word(k.Entries + i*k.Stride + k.Key)
		return key == 0 || yield(key, value)
	})
}

// Lookup returns the value under a str key; 0 for none. It looks only at the first entries, because it serves
// namespaces.
func (r Reader) Lookup(dict uint64, name string) (found uint64) {
	if t := r.ObjectType(dict); t == nil || t.Shape != ShapeDict {
		return 0
	}
	n := 0
	r.Entries(dict, func(key, value uint64) bool {
		if n++; r.isText(key, name) {
			found = value
		}
		return found == 0 && n < 1<<16
	})
	return found
}

// Attributes calls yield for each attribute that an instance has in its own namespace, until it returns false.
func (r Reader) Attributes(obj uint64, t *Type, yield func(key, value uint64) bool) {
	if dict, values := r.AttributesAt(obj, t); dict != 0 {
		if r.IsShape(dict, ShapeDict) {
			r.Entries(dict, yield)
		}
	} else if values != 0 {
		r.InlineAttributes(t, values, yield)
	}
}

// AttributesAt returns the place of an instance's attributes: in a dict, if that has been made, or else as values with
// names in its type.
func (r Reader) AttributesAt(obj uint64, t *Type) (dict, values uint64) {
	minor := r.Heap.Version.Minor
	managed := minor >= 11 && t.Flags&cpython.FlagManagedDict != 0
	switch {
	case managed && minor == 11:
		dict, values = r.Mem.Word(obj-24), r.Mem.Word(obj-32)
	case managed && minor == 12: // one word for both, values are marked by the lowest bit
		if dict = r.Mem.Word(obj - 24); dict&1 != 0 {
			dict, values = 0, dict+1
		}
	case managed:
		if dict = r.Mem.Word(obj - 24); dict == 0 && t.Flags&cpython.FlagInlineValues != 0 {
			if head := r.Mem.Word(obj + t.Basic); byte(head>>24) != 0 { // valid
				values = obj + t.Basic
			}
		}
	case t.Dict > 0 && t.Dict <= MaxBasic:
		dict = r.Mem.Word(obj + uint64(t.Dict))
	case t.Dict < 0 && t.Dict >= -MaxBasic:
		n := int64(r.Mem.Word(obj + uint64(r.Heap.VarSize)))
		if n = max(n, -n); n < 0 || n > 1<<32 {
			return 0, 0
		}
		dict = r.Mem.Word(obj + (t.Basic+uint64(n)*t.Item+7)&^7 + uint64(t.Dict))
	}
	return dict, values
}

// InlineAttributes is [Reader.Attributes] for values without a dict.
func (r Reader) InlineAttributes(t *Type, values uint64, yield func(key, value uint64) bool) {
	if k, ok := r.readKeys(r.Mem.Word(t.Addr + uint64(r.Heap.CachedKeys))); ok {
		r.values(k, r.firstValue(values), yield)
	}
}

// Attribute returns an attribute that an instance has in its own namespace, 0 for none.
func (r Reader) Attribute(obj uint64, t *Type, name string) (found uint64) {
	n := 0
	r.Attributes(obj, t, func(key, value uint64) bool {
		if n++; r.isText(key, name) {
			found = value
		}
		return found == 0 && n < 1<<12
	})
	return found
}

// AttributeOf is [Reader.Attribute] for an object of any type.
func (r Reader) AttributeOf(obj uint64, name string) uint64 {
	if t := r.ObjectType(obj); t != nil {
		return r.Attribute(obj, t, name)
	}
	return 0
}
