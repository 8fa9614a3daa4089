package libc

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
)

// A class's type information (Itanium C++ ABI, sections 2.5.3 and 2.9) is a structure that points to the class's name
// in its second word. The second word of the class's table of virtual functions points to that structure; the first is
// the offset to the object's top, 0 in a class with one base. A library that does not export its pools, as those in
// pip's wheels of pyarrow (25.0.1), has the type information all the same: dynamic_cast and exceptions need it.
const (
	nameInType  = 8
	typeInTable = 8
)

// nameStart is what the names of arrow's classes begin with in type information.
const nameStart = "N5arrow"

// Bounds on the text of a class's name, and on the texts that end as those of pools do.
const (
	maxName  = 64
	maxNames = 1 << 12
)

// named adds the tables of classes that have no symbol, by the names in their type information. It fails with
// [ErrUnknown] where a class has several tables or there is too much to look at.
func (f *poolFinder) named() error {
	names, err := f.names()
	if err != nil || len(names) == 0 {
		return err
	}
	types := map[uint64]string{}
	for at, name := range f.code.PointersTo(tableAddresses(names)) {
		types[at-nameInType] = names[name]
	}
	found := map[string]uint64{}
	for at, one := range f.code.PointersTo(tableAddresses(types)) {
		class, table := types[one], at-typeInTable
		if !f.isTable(table) {
			continue
		}
		if other, ok := found[class]; ok && other != table {
			return fmt.Errorf("%w: there are two tables of %s", ErrUnknownPools, class)
		}
		found[class] = table
	}
	for class, table := range found {
		if _, exported := f.tables[class]; !exported {
			f.tables[class] = table
		}
	}
	return nil
}

// names returns the classes of pools, by the addresses of their names in type information.
func (f *poolFinder) names() (map[uint64]string, error) {
	ends, ok := f.code.Find([]byte(poolSuffix+"E\x00"), maxNames)
	if !ok || len(ends) == maxNames {
		return nil, fmt.Errorf("%w: too much to look at", ErrUnknownPools)
	}
	names := map[uint64]string{}
	for _, end := range ends {
		text := make([]byte, f.before(end))
		if f.code.Read(end-uint64(len(text)), text) != nil {
			continue
		}
		// The name is what stands behind the last zero; a star before it marks a type of this library alone.
		text = text[bytes.LastIndexByte(text, 0)+1:]
		name, _ := strings.CutPrefix(string(text), "*")
		if class, ok := classOf(tablePrefix + strings.TrimPrefix(name, nameStart) + poolSuffix + "E"); ok &&
			strings.HasPrefix(name, nameStart) {
			names[end-uint64(len(text))] = class
		}
	}
	return names, nil
}

// before returns the number of bytes in front of an address in its segment, at most maxName.
func (f *poolFinder) before(addr uint64) uint64 {
	for _, s := range f.code.Segments() {
		if addr >= s.Vaddr && addr-s.Vaddr < s.Size {
			return min(addr-s.Vaddr, maxName)
		}
	}
	return 0
}

// isTable reports whether a table of virtual functions begins at an address.
func (f *poolFinder) isTable(addr uint64) bool {
	var top [8]byte
	if f.code.Read(addr, top[:]) != nil || binary.LittleEndian.Uint64(top[:]) != 0 {
		return false
	}
	_, ok := f.code.Function(addr + allocateSlot)
	return ok
}

// tableAddresses returns the set of a map's keys.
func tableAddresses(of map[uint64]string) map[uint64]bool {
	set := make(map[uint64]bool, len(of))
	for at := range of {
		set[at] = true
	}
	return set
}
