package objects

import (
	"cmp"
	"slices"
	"strings"

	"ipytracer/internal/python/cpython"
)

// Sizes has everything that it takes to find the memory of an object.
type Sizes struct {
	Mapped   []Block // the process's mappings, by address: no buffer is larger
	Heap     Block   // of malloc's, before the program's break
	NumPy    int     // major version of NumPy, 0 if it is not known
	Lineages map[*Type]Lineage
	Foreign  LibraryMemory
	Placed   func(addr, bytes uint64) // called with each block that is measured; may be nil
}

// reportBlock passes a measured block to Placed.
func (s *Sizes) reportBlock(addr, bytes uint64) {
	if s.Placed != nil {
		s.Placed(addr, bytes)
	}
}

// Sizer finds the memory of objects.
type Sizer struct {
	Reader
	Sizes *Sizes // nil where no sizes are needed
}

// Lineage has the names of a type and of its bases.
type Lineage struct {
	names  []string
	Origin string // the first that otherSize knows; "" for none
	hides  bool   // one is of a library in C or C++ that may have memory of its own
}

// Lineage returns the names of a type and of its bases.
func (s *Sizer) Lineage(t *Type) Lineage {
	if found, ok := s.Sizes.Lineages[t]; ok {
		return found
	}
	var found Lineage
	for base := range s.Bases(t) {
		found.names = append(found.names, base.Name)
		switch base.Name {
		case "bytearray", "array.array", "_ctypes._CData":
			found.Origin = cmp.Or(found.Origin, base.Name)
		}
		found.hides = found.hides || s.isForeign(base.Name, base.Addr)
	}
	s.Sizes.Lineages[t] = found
	return found
}

// Is reports whether one of the types has the name.
func (l Lineage) Is(name string) bool { return slices.Contains(l.names, name) }

// LeastLarge is the least size of a block that the system gets back when it goes, or that a meter of blocks sees go. A
// smaller block lies with others on its pages, and allocators keep it for objects to come.
const LeastLarge = 64 << 10

// Buffer returns how many bytes a buffer of an object takes: none if it does not lie in mapped memory.
func (s *Sizes) Buffer(addr, size uint64) (bytes uint64, known bool) {
	if size == 0 {
		return 0, true
	}
	if !s.HasMapped(addr, size) {
		return 0, false
	}
	s.reportBlock(addr, allocated(size))
	s.Foreign.addBuffer(addr, size)
	return allocated(size), true
}

// allocated returns the bytes that CPython's allocator takes for a size: multiples of 16 up to 512, above it malloc
// with a header.
func allocated(size uint64) uint64 {
	const small = 512
	if size <= small {
		return (size + 15) &^ 15
	}
	return (size + 8 + 15) &^ 15
}

// HasMapped reports whether the process has mapped so much memory at an address.
func (s *Sizes) HasMapped(addr, size uint64) bool {
	i := BlockAt(s.Mapped, addr)
	return i >= 0 && size <= s.Mapped[i].Size-(addr-s.Mapped[i].Address)
}

// isForeign reports whether a type is of a library in C or C++ that may have memory of its own. The type's name shows
// that; if the name has no module in it, the type's address does.
func (s *Sizer) isForeign(name string, addr uint64) bool {
	switch {
	case hides[name]:
		return true
	case strings.Contains(name, "."):
		return !isStandard(name) && !IsPlain(name)
	}
	return s.Mem.Word(addr+cpython.TypeFlags)&cpython.FlagHeapType == 0 && !unowned[name] && !s.isKnown(name, addr)
}
