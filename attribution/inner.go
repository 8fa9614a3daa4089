package attribution

import (
	"cmp"
	"slices"

	"ipytracer/event"
)

// inner are blocks that lie in blocks of another meter: an array's data, or a tensor's, are in a block of malloc's, which is in memory that was
// mapped. A leak is said once, of the innermost.
type inner struct {
	heap, arrays []extent // by address; tensors are arrays, too
}

// extent is where a block lies.
type extent struct {
	at   uint64
	size event.Bytes
}

// inner collects what can lie in other blocks of a process, also what was freed when it ended.
func (j *judge) inner(pid int32, ended bool) *inner {
	in := &inner{}
	add := func(at place, b kept) {
		switch at.meter {
		case event.NumPy, event.Torch:
			in.arrays = append(in.arrays, extent{at.address, b.size})
		case event.Heap:
			in.heap = append(in.heap, extent{at.address, b.size})
		}
	}
	j.audit.each(pid, add)
	if ended {
		for at, b := range j.audit.leaving[pid] {
			add(at, b.kept)
		}
	}
	byAddress := func(a, b extent) int { return cmp.Compare(a.at, b.at) }
	slices.SortFunc(in.heap, byAddress)
	slices.SortFunc(in.arrays, byAddress)
	return in
}

// fill says whether at least half of a block is taken by blocks that lie in it.
func (in *inner) fill(at place, size event.Bytes) bool {
	switch at.meter {
	case event.Heap:
		return within(in.arrays, at.address, size)*2 >= size
	case event.Mapped:
		return max(within(in.arrays, at.address, size), within(in.heap, at.address, size))*2 >= size
	}
	return false
}

// within is how many bytes of blocks lie in [start, start+size).
func within(blocks []extent, start uint64, size event.Bytes) (sum event.Bytes) {
	i, _ := slices.BinarySearchFunc(blocks, start, func(b extent, at uint64) int { return cmp.Compare(b.at, at) })
	for ; i < len(blocks) && blocks[i].at-start < uint64(size); i++ {
		sum += blocks[i].size
	}
	return sum
}
