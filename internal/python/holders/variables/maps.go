package variables

import (
	"cmp"
	"slices"

	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/objects"
)

// A memory map is an object of mmap.mmap. Its pages belong to no allocator: they go with the object, as far as they are
// in memory. NumPy's memmap, a buffer of mmap's and multiprocessing's SharedMemory refer to such an object.

// mapType is the type of the object: its address and its size are behind the head (Modules/mmapmodule.c).
const (
	MapType = "mmap.mmap"
	mapData = 16
	mapSize = 24
)

// leastMap is the least size of a map that counts.
const leastMap = 64 << 10

// isMap reports whether objects of a type are memory maps: the type is mmap's, or a class that derives from it.
func (e *Extents) isMap(t *objects.Type) bool {
	return t.Name == MapType || t.Flags&cpython.FlagHeapType != 0 && t.Shape == objects.ShapeWords && e.Sizes != nil &&
		e.Lineage(t).Is(MapType)
}

// mapOf returns what an object has mapped. Nothing is believed that is not mapped in the process from one end to the
// other.
func (e *Extents) mapOf(addr uint64) (b objects.Block, ok bool) {
	return e.mappedAt(e.Mem.Word(addr+mapData), e.Mem.Word(addr+mapSize))
}

// mappedAt returns whole pages from an address on.
func (e *Extents) mappedAt(at, size uint64) (b objects.Block, ok bool) {
	if at&(objects.PageSize-1) != 0 || size < leastMap || size > objects.UserSpace {
		return b, false
	}
	if !e.Sizes.HasMapped(at, size) {
		return b, false
	}
	return objects.Block{Address: at, Size: (size + objects.PageSize - 1) &^ (objects.PageSize - 1)}, true
}

// mapped takes in what a node has mapped.
func (e *Extents) mapped(n int32, b objects.Block) {
	if len(e.maps) < maxMaps {
		e.maps[n] = b
	}
}

// maxMaps is the largest number of maps of a process that count.
const maxMaps = 1 << 16

// maps takes in the maps of nodes that owners hold and nothing else does.
func (p *placer) maps() {
	for v, b := range p.extents.maps {
		if m := p.sharing.masks.of[v]; p.sharing.isFreed(v) && m != crowdedMask {
			p.out.Maps = append(p.out.Maps, Placed{b, p.sharing.masks.bits[m]})
		}
	}
	slices.SortFunc(p.out.Maps, func(a, b Placed) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(b.Size, a.Size), cmp.Compare(a.Owners, b.Owners))
	})
	p.out.Maps = apart(p.out.Maps)
}
