package cpython

import (
	"encoding/binary"
	"fmt"
)

// maxDictEntries bounds how many entries of a dict are looked at. sys.modules of a large notebook has some
// 5,000.
const maxDictEntries = 1 << 16

// dictKeys is the header of a PyDictKeysObject: where its entries lie.
type dictKeys struct {
	addr    uint64
	entries uint64 // address of the first entry
	count   int    // used entries, deleted ones included (dk_nentries)
	stride  int    // bytes an entry takes
	key     int    // offset of me_key in an entry; me_value follows it
}

// keysOf reads the header of a dict's keys. It refuses split tables (instance dictionaries).
//
// Layouts: Objects/dict-common.h of 3.9 and 3.10, Include/internal/pycore_dict.h from 3.11.
func (o *objects) keysOf(dict uint64) (dictKeys, error) {
	if !o.isA(dict, &o.types.dict) {
		return dictKeys{}, fmt.Errorf("dict at %#x: %w", dict, ErrMalformed)
	}
	addr, err := o.mem.word(dict + uint64(o.off.DictKeys))
	if err != nil {
		return dictKeys{}, fmt.Errorf("dict keys: %w", err)
	}
	if values, err := o.mem.word(dict + uint64(o.off.DictValues)); err != nil || values != 0 {
		return dictKeys{}, fmt.Errorf("dict at %#x is split: %w", dict, ErrMalformed)
	}
	var head [48]byte
	if n, err := o.mem.read(addr, head[:40]); n < 40 {
		return dictKeys{}, fmt.Errorf("dict keys: %w", err)
	}
	k := dictKeys{addr: addr}
	if o.minor <= 10 {
		err = k.decodeOld(head[:])
	} else {
		err = k.decode(head[:])
	}
	return k, err
}

// decodeOld reads dk_size (8) and dk_nentries (32); dk_indices (40) has dk_size elements of 1, 2, 4 or 8
// bytes.
func (k *dictKeys) decodeOld(head []byte) error {
	size := binary.LittleEndian.Uint64(head[8:])
	count := binary.LittleEndian.Uint64(head[32:])
	if size > 1<<32 || size&(size-1) != 0 || count > size {
		return fmt.Errorf("dict keys at %#x: %w", k.addr, ErrMalformed)
	}
	width := uint64(1)
	switch {
	case size > 0xffff:
		width = 4
	case size > 0xff:
		width = 2
	}
	k.entries, k.stride, k.key = k.addr+40+size*width, 24, 8
	k.count = int(min(count, maxDictEntries))
	return nil
}

// decode reads dk_log2_index_bytes (9), dk_kind (10) and dk_nentries (24); dk_indices starts at 32.
func (k *dictKeys) decode(head []byte) error {
	const general, unicode = 0, 1
	log2, kind := head[9], head[10]
	count := binary.LittleEndian.Uint64(head[24:])
	if log2 > 40 || kind > unicode || count > 1<<40 {
		return fmt.Errorf("dict keys at %#x: %w", k.addr, ErrMalformed)
	}
	k.entries, k.stride, k.key = k.addr+32+1<<log2, 24, 8
	if kind == unicode {
		k.stride, k.key = 16, 0
	}
	k.count = int(min(count, maxDictEntries))
	return nil
}

// dictEntry is one entry: the addresses of key and value, and its index.
type dictEntry struct {
	index      int
	key, value uint64
}

// entry reads one entry.
func (o *objects) entry(k *dictKeys, index int) (dictEntry, error) {
	var buf [16]byte
	_, err := o.mem.read(k.entries+uint64(index*k.stride+k.key), buf[:])
	return dictEntry{index, binary.LittleEndian.Uint64(buf[:]), binary.LittleEndian.Uint64(buf[8:])}, err
}

// scan calls yield for every live entry of a dict until it returns false.
func (o *objects) scan(k *dictKeys, yield func(dictEntry) bool) error {
	const batch = 128
	buf := make([]byte, batch*k.stride)
	for first := 0; first < k.count; first += batch {
		part := buf[:min(batch, k.count-first)*k.stride]
		if _, err := o.mem.read(k.entries+uint64(first*k.stride), part); err != nil {
			return fmt.Errorf("dict entries: %w", err)
		}
		for i := 0; len(part) > 0; i, part = i+1, part[k.stride:] {
			e := dictEntry{first + i, binary.LittleEndian.Uint64(part[k.key:]),
				binary.LittleEndian.Uint64(part[k.key+8:])}
			if e.key != 0 && e.value != 0 && !yield(e) {
				return nil
			}
		}
	}
	return nil
}

// maxPlaces bounds how many names an [Interpreter] remembers the places of. It asks for a dozen.
const maxPlaces = 64

// name is a string key of a dict.
type name struct {
	dict uint64
	text string
}

// place is where a name was last: the entry of a table of keys. A name stays there until the table is made anew.
type place struct {
	keys  uint64
	index int
}

// lookup finds the entry that has a string for its key. Its last place is looked at first: four reads instead of one
// for each of a module's names, of which there may be thousands.
func (o *objects) lookup(dict uint64, text string) (dictKeys, dictEntry, error) {
	k, err := o.keysOf(dict)
	if err != nil {
		return k, dictEntry{}, err
	}
	if at, ok := o.places[name{dict, text}]; ok && at.keys == k.addr && at.index < k.count {
		if e, err := o.entry(&k, at.index); err == nil && e.value != 0 && o.stringIs(e.key, text) {
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
	if err == nil && found.key == 0 {
		err = fmt.Errorf("%q: %w", text, ErrNotFound)
	}
	if found.key != 0 {
		o.places.remember(name{dict, text}, place{k.addr, found.index})
	}
	return k, found, err
}

// places are where names were when they were looked up last.
type places map[name]place

func (p *places) remember(n name, at place) {
	if *p == nil || len(*p) >= maxPlaces {
		*p = places{}
	}
	(*p)[n] = at
}
