package resident

import (
	"slices"
	"strings"

	"ipytracer/internal/host/allocators"
)

// keptBy are the kinds of what an allocator has given out, and of what it keeps.
var keptBy = map[allocators.Allocator][2]Kind{
	allocators.Jemalloc: {Jemalloc, JemallocFree}, allocators.Mimalloc: {Mimalloc, MimallocFree},
}

// findExtents finds the memory of allocators other than glibc's in mappings.
func (x *explainer) findExtents(mappings []mapping) {
	const least = 32 << 10 // resident bytes of a mapping with an allocator's own data
	var private []allocators.Mapping
	for _, m := range mappings {
		if m.private() && m.resident >= least && m.end-m.start <= mostPages*x.page {
			private = append(private, allocators.Mapping{Start: m.start, End: m.end})
		}
	}
	x.extents = allocators.Find(x.reader, private)
}

// takeExtents gives the resident memory of extents in a part of a loaded mapping. It returns the rest of the part.
func (x *explainer) takeExtents(r mapping, give func(Kind, uint64)) (rest []mapping) {
	i, _ := slices.BinarySearchFunc(x.extents, r.start, func(e allocators.Extent, at uint64) int {
		if e.End <= at {
			return -1
		}
		return 1
	})
	for ; i < len(x.extents) && x.extents[i].Start < r.end; i++ {
		e := &x.extents[i]
		if e.Start > r.start {
			before := r
			before.end = e.Start
			rest = append(rest, before)
		}
		bytes := x.residentIn(span{max(e.Start, r.start), min(e.End, r.end)})
		used := min(bytes, e.Used)
		e.Used -= used
		kinds := keptBy[e.Of]
		give(kinds[0], used)
		give(kinds[1], bytes-used)
		if e.Free {
			x.returns[kinds[1]] += bytes - used
		}
		if r.start = min(e.End, r.end); r.start == r.end {
			return rest
		}
	}
	return append(rest, r)
}

// filesOf returns the names of the allocators' libraries, by the kind of what they keep.
func filesOf(mappings []mapping) map[Kind]string {
	files := map[Kind]string{}
	for _, m := range mappings {
		for prefix, kind := range libraries {
			if m.library != "" && strings.HasPrefix(m.library, prefix) {
				files[kind] = m.library
			}
		}
	}
	return files
}
