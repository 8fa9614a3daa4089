package cpython

import (
	"encoding/binary"
	"fmt"
)

// maxDictEntries bounds how many entries of a dict are looked at. sys.modules of a large notebook has some
// 5,000.
const maxDictEntries = 1 << 16

// Keys is the header of a PyDictKeysObject: where a dict's entries lie.
type Keys struct {
	Entries uint64 // address of the first entry
	Count   uint64 // used entries, deleted ones included (dk_nentries)
	Stride  uint64 // bytes an entry takes
	Key     uint64 // offset of me_key in an entry; me_value follows it
	Split   bool   // the values are elsewhere; always false in 3.9 and 3.10, whose keys do not show it
}

// KeysSize is how many bytes of a PyDictKeysObject [Version.Keys] needs.
const KeysSize = 40

// MaxEntries bounds the entries of one dict, far above the number that a process has memory for.
const MaxEntries = 1 << 32

// Keys decodes the beginning of a PyDictKeysObject at an address. ok is false where it has impossible values.
//
// Layouts: Objects/dict-common.h of 3.9 and 3.10, Include/internal/pycore_dict.h from 3.11: dk_log2_index_bytes (9),
// dk_kind (10) and dk_nentries (24); dk_indices starts at 32.
func (v Version) Keys(addr uint64, head []byte) (k Keys, ok bool) {
	if v.Minor <= 10 {
		return oldKeys(addr, head)
	}
	const general, split = 0, 2 // DICT_KEYS_GENERAL, DICT_KEYS_SPLIT
	const maxLog2 = 40
	log2, kind := head[9], head[10]
	k.Count = binary.LittleEndian.Uint64(head[24:])
	if log2 > maxLog2 || kind > split || k.Count > MaxEntries {
		return k, false
	}
	indexBytes := uint64(1) << log2
	k.Entries, k.Stride, k.Split = addr+32+indexBytes, 16, kind == split
	if kind == general {
		k.Stride, k.Key = 24, 8
	}
	return k, true
}

// oldKeys does what Keys does, for 3.9 and 3.10: dk_size (8) and dk_nentries (32); dk_indices (40) has dk_size elements
// of 1, 2, 4 or 8 bytes.
func oldKeys(addr uint64, head []byte) (k Keys, ok bool) {
	size := binary.LittleEndian.Uint64(head[8:])
	k.Count = binary.LittleEndian.Uint64(head[32:])
	if size > MaxEntries || size&(size-1) != 0 || k.Count > size {
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
	k.Entries, k.Stride, k.Key = addr+40+size*width, 24, 8
	return k, true
}

// dictKeys are the keys of a dict: a table with an address of its own. Count is at most maxDictEntries.
type dictKeys struct {
	addr uint64
	Keys
}

// keysOf reads the header of a dict's keys. It refuses split tables (instance dictionaries).
func (o *objects) keysOf(dict uint64) (k dictKeys, err error) {
	if !o.isA(dict, &o.types.dict) {
		return k, fmt.Errorf("dict at %#x: %w", dict, ErrMalformed)
	}
	if k.addr, err = o.mem.word(dict + uint64(o.off.DictKeys)); err != nil {
		return k, fmt.Errorf("dict keys: %w", err)
	}
	if values, err := o.mem.word(dict + uint64(o.off.DictValues)); err != nil || values != 0 {
		return k, fmt.Errorf("dict at %#x is split: %w", dict, ErrMalformed)
	}
	var head [KeysSize]byte
	if _, err := o.mem.read(k.addr, head[:]); err != nil {
		return k, fmt.Errorf("dict keys: %w", err)
	}
	keys, ok := Version{3, o.minor, -1}.Keys(k.addr, head[:])
	if !ok || keys.Split {
		return k, fmt.Errorf("dict keys at %#x: %w", k.addr, ErrMalformed)
	}
	k.Keys = keys
	k.Count = min(k.Count, maxDictEntries)
	return k, nil
}

// dictEntry is one entry: the addresses of key and value, and its index.
type dictEntry struct {
	index      uint64
	key, value uint64
}

// entry reads one entry.
func (o *objects) entry(k *dictKeys, index uint64) (dictEntry, error) {
	var buf [16]byte
	_, err := o.mem.read(k.Entries+index*k.Stride+k.Key, buf[:])
	return dictEntry{index, binary.LittleEndian.Uint64(buf[:]), binary.LittleEndian.Uint64(buf[8:])}, err
}

// scan calls yield for every live entry of a dict until it returns false.
func (o *objects) scan(k *dictKeys, yield func(dictEntry) bool) error {
	const batch = 128
	buf := make([]byte, batch*k.Stride)
	for first := uint64(0); first < k.Count; first += batch {
		part := buf[:min(batch, k.Count-first)*k.Stride]
		if _, err := o.mem.read(k.Entries+first*k.Stride, part); err != nil {
			return fmt.Errorf("dict entries: %w", err)
		}
		for i := first; len(part) > 0; i, part = i+1, part[k.Stride:] {
			e := dictEntry{i, binary.LittleEndian.Uint64(part[k.Key:]), binary.LittleEndian.Uint64(part[k.Key+8:])}
			if e.key != 0 && e.value != 0 && !yield(e) {
				return nil
			}
		}
	}
	return nil
}

// maxPlaces bounds how many names an [Interpreter] remembers the places of. It asks for a dozen.
const maxPlaces = 64

// name identifies a string key of a dict.
type name struct {
	dict uint64
	text string
}

// place is where a name was found last: an entry of a table of keys. A name stays there until the table is made anew. A
// name that was absent stays absent while no entry is added.
type place struct {
	keys   dictKeys
	index  uint64
	absent bool
}

// lookup finds the entry whose key is a string. It looks at the name's last place first: that takes four reads, a
// search takes one for each of a module's names, of which there may be thousands.
func (o *objects) lookup(dict uint64, text string) (dictKeys, dictEntry, error) {
	k, err := o.keysOf(dict)
	if err != nil {
		return k, dictEntry{}, err
	}
	absent := fmt.Errorf("%q: %w", text, ErrNotFound)
	if last, ok := o.places[name{dict, text}]; ok && last.keys.addr == k.addr {
		if last.absent && last.keys == k {
			return k, dictEntry{}, absent
		}
		if e, ok := o.entryAt(&k, last, text); ok {
			return k, e, nil
		}
	}
	var found dictEntry
	err = o.scan(&k, func(e dictEntry) bool {
		if o.stringIs(e.key, text) {
			found = e
		}
		return found.key == 0
	})
	if err != nil {
		return k, found, err
	}
	o.places.remember(name{dict, text}, place{k, found.index, found.key == 0})
	if found.key == 0 {
		return k, found, absent
	}
	return k, found, nil
}

// entryAt returns the entry at a name's last place, if it still has the name.
func (o *objects) entryAt(k *dictKeys, last place, text string) (e dictEntry, ok bool) {
	if last.absent || last.index >= k.Count {
		return e, false
	}
	e, err := o.entry(k, last.index)
	return e, err == nil && e.value != 0 && o.stringIs(e.key, text)
}

// places are where names were when they were looked up last.
type places map[name]place

func (p *places) remember(n name, at place) {
	if *p == nil || len(*p) >= maxPlaces {
		*p = places{}
	}
	(*p)[n] = at
}
