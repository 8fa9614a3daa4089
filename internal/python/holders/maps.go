package holders

import (
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/objects"
)

// A memory map is an object of mmap.mmap. Its pages belong to no allocator: they go with the object, as far as they are
// in memory. NumPy's memmap, a buffer of mmap's and multiprocessing's SharedMemory refer to such an object.

// mapType is the type of memory maps. The address and the size are behind the head (Modules/mmapmodule.c).
const (
	mapType = "mmap.mmap"
	mapData = 16
	mapSize = 24
)

// leastMap is the least size of a map that is looked at, in bytes.
const leastMap = 64 << 10

// isMemoryMap reports whether objects of a type are memory maps: the type is mmap's, or a class that derives from it.
func isMemoryMap(s *objects.Sizer, t *objects.Type) bool {
	if t.Name == mapType {
		return true
	}
	mayDerive := t.Flags&cpython.FlagHeapType != 0 && t.Shape == objects.ShapeWords
	return mayDerive && s.Sizes != nil && s.Lineage(t).Is(mapType)
}

// readMap returns the whole pages that an object has mapped; ok is false if the process has not mapped all of them.
func readMap(s *objects.Sizer, addr uint64) (b objects.Block, ok bool) {
	at, size := s.Mem.Word(addr+mapData), s.Mem.Word(addr+mapSize)
	if at&(objects.PageSize-1) != 0 || size < leastMap || size > objects.UserSpace || !s.Sizes.HasMapped(at, size) {
		return b, false
	}
	return objects.Block{Address: at, Size: (size + objects.PageSize - 1) &^ (objects.PageSize - 1)}, true
}

// maxMaps is the largest number of maps of a process that are looked at.
const maxMaps = 1 << 16
