package holders

import (
	"encoding/binary"

	"ipytracer/internal/python/cpython"
)

// keys is a PyDictKeysObject: where its entries lie. The layouts are explained in package cpython (dict.go there).
type keys struct {
	entries uint64 // address of the first
	count   uint64 // used, deleted ones included
	stride  uint64 // bytes an entry takes
	key     uint64 // offset of me_key in it; me_value follows it
	split   bool   // the values are elsewhere
}

// maxEntries bounds the entries of one dict, far above the number that a process has memory for.
const maxEntries = 1 << 32

// readKeys reads the header of a dict's keys.
func (r reader) readKeys(addr uint64) (k keys, ok bool) {
	head := r.mem.bytes(addr, 40)
	if head == nil {
		return k, false
	}
	if r.heap.Version.Minor <= 10 {
		return oldKeys(addr, head)
	}
	const split = 2
	log2, kind := head[9], head[10]
	k.count = binary.LittleEndian.Uint64(head[24:])
	if log2 > 40 || kind > split || k.count > maxEntries {
		return k, false
	}
	k.entries, k.stride, k.key, k.split = addr+32+1<<log2, 16, 0, kind == split
	if kind == 0 {
		k.stride, k.key = 24, 8
	}
	return k, true
}

// oldKeys is for 3.9 and 3.10, where the keys do not show whether the table is split.
func oldKeys(addr uint64, head []byte) (k keys, ok bool) {
	size := binary.LittleEndian.Uint64(head[8:])
	k.count = binary.LittleEndian.Uint64(head[32:])
	if size > maxEntries || size&(size-1) != 0 || k.count > size {
		return k, false
	}
	width := uint64(1)
	switch {
	case size > 0xffff_ffff:
		width = 8
	case size > 0xffff:
		width = 4
	case size > 0xff:
		width = 2
	}
	k.entries, k.stride, k.key = addr+40+size*width, 24, 8
	return k, true
}

// entries calls yield for the key and value of each entry of a dict until it returns false.
func (r reader) entries(dict uint64, yield func(key, value uint64) bool) {
	k, ok := r.readKeys(r.mem.word(dict + uint64(r.heap.DictKeys)))
	if !ok {
		return
	}
	if values := r.mem.word(dict + uint64(r.heap.DictValues)); values != 0 {
		r.values(k, r.firstValue(values), yield)
		return
	}
	if k.split {
		return
	}
	for i := uint64(0); i < k.count; i++ {
		e := r.mem.bytes(k.entries+i*k.stride+k.key, 16)
		if e == nil {
			return
		}
		key, value := binary.LittleEndian.Uint64(e), binary.LittleEndian.Uint64(e[8:])
		if key != 0 && value != 0 && !yield(key, value) || r.stopped != nil {
			return
		}
	}
}

// firstValue is where the values of a split table begin: from 3.13 on behind a header of 8 bytes.
func (r reader) firstValue(values uint64) uint64 {
	if r.heap.Version.Minor >= 13 {
		return values + 8
	}
	return values
}

// values is entries for a split table.
func (r reader) values(k keys, first uint64, yield func(key, value uint64) bool) {
	const most = 1 << 10 // shared keys have at most 30 entries, before 3.11 some more
	r.mem.words(first, min(k.count, most), func(i, value uint64) bool {
		if value == 0 {
			return true
		}
		key := r.mem.word(k.entries + i*k.stride + k.key)
		return key == 0 || yield(key, value)
	})
}

// lookup returns the value under a str key, 0 for none. It looks at the first entries only: it serves namespaces.
func (r reader) lookup(dict uint64, name string) (found uint64) {
	if t := r.objectType(dict); t == nil || t.shape != shapeDict {
		return 0
	}
	n := 0
	r.entries(dict, func(key, value uint64) bool {
		if n++; r.isText(key, name) {
			found = value
		}
		return found == 0 && n < 1<<16
	})
	return found
}

// attributes calls yield for each attribute that an instance has in its own namespace, until it returns false.
func (r reader) attributes(obj uint64, t *typ, yield func(key, value uint64) bool) {
	if dict, values := r.attributesAt(obj, t); dict != 0 {
		if r.isShape(dict, shapeDict) {
			r.entries(dict, yield)
		}
	} else if values != 0 {
		r.inlineAttributes(t, values, yield)
	}
}

// attributesAt returns the place of an instance's attributes: in a dict, if that has been made, or else as values with
// names in its type.
func (r reader) attributesAt(obj uint64, t *typ) (dict, values uint64) {
	minor := r.heap.Version.Minor
	managed := minor >= 11 && t.flags&cpython.FlagManagedDict != 0
	switch {
	case managed && minor == 11:
		dict, values = r.mem.word(obj-24), r.mem.word(obj-32)
	case managed && minor == 12: // one word for both, values are marked by the lowest bit
		if dict = r.mem.word(obj - 24); dict&1 != 0 {
			dict, values = 0, dict+1
		}
	case managed:
		if dict = r.mem.word(obj - 24); dict == 0 && t.flags&cpython.FlagInlineValues != 0 {
			if head := r.mem.word(obj + t.basic); byte(head>>24) != 0 { // valid
				values = obj + t.basic
			}
		}
	case t.dict > 0 && t.dict <= maxBasic:
		dict = r.mem.word(obj + uint64(t.dict))
	case t.dict < 0 && t.dict >= -maxBasic:
		n := int64(r.mem.word(obj + uint64(r.heap.VarSize)))
		if n = max(n, -n); n < 0 || n > 1<<32 {
			return 0, 0
		}
		dict = r.mem.word(obj + (t.basic+uint64(n)*t.item+7)&^7 + uint64(t.dict))
	}
	return dict, values
}

// inlineAttributes is attributes for values without a dict.
func (r reader) inlineAttributes(t *typ, values uint64, yield func(key, value uint64) bool) {
	if k, ok := r.readKeys(r.mem.word(t.addr + uint64(r.heap.CachedKeys))); ok {
		r.values(k, r.firstValue(values), yield)
	}
}

// attribute returns an attribute that an instance has in its own namespace, 0 for none.
func (r reader) attribute(obj uint64, t *typ, name string) (found uint64) {
	n := 0
	r.attributes(obj, t, func(key, value uint64) bool {
		if n++; r.isText(key, name) {
			found = value
		}
		return found == 0 && n < 1<<12
	})
	return found
}
