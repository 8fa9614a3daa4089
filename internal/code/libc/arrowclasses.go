package libc

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
)

// A class's type information is a structure whose second word points to the class's name. The second word of the
// class's table of virtual functions points to that structure. The first word of the table is the offset to the
// object's top, which is 0 in a class with one base (Itanium C++ ABI, sections 2.5.3 and 2.9). A library that does not
// export its pools, such as that in pip's wheels of pyarrow (25.0.1), still has the type information, because
// dynamic_cast and exceptions need it.
const (
	nameInType  = 8
	typeInTable = 8
)

// nameStart is the beginning of the names of arrow's classes in type information.
const nameStart = "N5arrow"

// Limits for the search for names of classes.
const (
	maxName  = 64      // bytes of a name
	maxNames = 1 << 12 // texts that end like the name of a pool
)

// addUnexported adds the tables of classes without a symbol. It finds them by the names in their type information. It
// fails with [ErrUnknownPools] if a class has several tables, or there is too much to be searched.
func (f *poolFinder) addUnexported() error {
	names, err := f.names()
	if err != nil || len(names) == 0 {
		return err
	}
	types := map[uint64]string{}
	for at, name := range f.code.PointersTo(keys(names)) {
		types[at-nameInType] = names[name]
	}
	found := map[string]uint64{}
	for at, typeInfo := range f.code.PointersTo(keys(types)) {
		class, table := types[typeInfo], at-typeInTable
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

// names returns the classes of pools that have a name in type information, by the address of that name.
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
		text = text[bytes.LastIndexByte(text, 0)+1:]  // the name begins behind the last zero
		name := strings.TrimPrefix(string(text), "*") // a star marks a type of this library alone
		rest, ofArrow := strings.CutPrefix(name, nameStart)
		class, isPool := classOf(tablePrefix + rest + poolSuffix + "E")
		if ofArrow && isPool {
			names[end-uint64(len(text))] = class
		}
	}
	return names, nil
}

// before returns how many bytes of its segment lie before an address, at most maxName.
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

// keys returns the set of a map's keys.
func keys(m map[uint64]string) map[uint64]bool {
	set := make(map[uint64]bool, len(m))
	for at := range m {
		set[at] = true
	}
	return set
}
