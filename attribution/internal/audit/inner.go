package audit

import (
	"cmp"
	"slices"

	"ipytracer/event"
)

// inner are blocks that lie in blocks of another meter: an array's data, or a tensor's, are in a block of malloc's,
// which is in memory that was mapped. A leak is reported once, for the innermost block.
type inner struct {
	layers map[int]*layer // by the number of the CPU's meters in which their blocks lie
}

// layer holds the blocks of meters that lie in blocks of the same other meters, as arrays and tensors do.
type layer struct {
	within []event.Meter
	blocks []extent // by address
}

// extent is the address and the size of a block.
type extent struct {
	at   uint64
	size event.Bytes
}

// inner collects the blocks of a process that can lie in other blocks, also those that were freed when it ended.
func (j *judge) inner(pid int32, ended bool) *inner {
	in := &inner{layers: map[int]*layer{}}
	add := func(at place, b block) {
		facts := at.meter.Facts()
		if _, _, device := at.meter.Device(); device || len(facts.Within) == 0 {
			return
		}
		one := in.layers[len(facts.Within)]
		if one == nil {
			one = &layer{within: facts.Within}
			in.layers[len(facts.Within)] = one
		}
		one.blocks = append(one.blocks, extent{at.address, b.size})
	}
	j.audit.each(pid, add)
	if ended {
		for at, b := range j.audit.departures.leaving[pid] {
			add(at, b.block)
		}
	}
	for _, one := range in.layers {
		slices.SortFunc(one.blocks, func(a, b extent) int { return cmp.Compare(a.at, b.at) })
	}
	return in
}

// fill reports whether blocks that lie in a block take at least half of it.
func (in *inner) fill(at place, size event.Bytes) bool {
	most := event.Bytes(0)
	for _, one := range in.layers {
		if slices.Contains(one.within, at.meter) {
			most = max(most, within(one.blocks, at.address, size))
		}
	}
	return at.meter.Encloses() && 2*most >= size
}

// within returns the number of bytes of blocks that lie in [start, start+size).
func within(blocks []extent, start uint64, size event.Bytes) (sum event.Bytes) {
	i, _ := slices.BinarySearchFunc(blocks, start, func(b extent, at uint64) int { return cmp.Compare(b.at, at) })
	for ; i < len(blocks) && blocks[i].at-start < uint64(size); i++ {
		sum += blocks[i].size
	}
	return sum
}
