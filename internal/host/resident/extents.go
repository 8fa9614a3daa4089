package resident

import (
	"cmp"
	"slices"
	"strings"
)

// extent is memory of an allocator other than glibc's.
type extent struct {
	span
	used       uint64 // bytes given out, which are not counted yet
	free       bool   // the allocator gives its pages back if asked
	held, kept Kind   // the kinds of its used bytes, and of the others
}

// takeExtents gives the resident memory of extents in a part of a loaded mapping. It returns the rest of the part.
func (x *explainer) takeExtents(r mapping, give func(Kind, uint64)) (rest []mapping) {
	i, _ := slices.BinarySearchFunc(x.extents, r.start, func(e extent, at uint64) int {
		if e.end <= at {
			return -1
		}
		return 1
	})
	for ; i < len(x.extents) && x.extents[i].start < r.end; i++ {
		e := &x.extents[i]
		if e.start > r.start {
			before := r
			before.end = e.start
			rest = append(rest, before)
		}
		bytes := x.residentIn(span{max(e.start, r.start), min(e.end, r.end)})
		used := min(bytes, e.used)
		e.used -= used
		give(e.held, used)
		give(e.kept, bytes-used)
		if e.free {
			x.returns[e.kept] += bytes - used
		}
		if r.start = min(e.end, r.end); r.start == r.end {
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

// withoutOverlaps sorts extents by address. Of those that overlap it keeps the first.
func withoutOverlaps(all []extent) []extent {
	slices.SortStableFunc(all, func(a, b extent) int { return cmp.Compare(a.start, b.start) })
	end := uint64(0)
	return slices.DeleteFunc(all, func(e extent) bool {
		if e.start < end {
			return true
		}
		end = e.end
		return false
	})
}
