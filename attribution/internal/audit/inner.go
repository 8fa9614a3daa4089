package audit

import (
	"cmp"
	"slices"

	"ipytracer/event"
)

// inner are blocks that lie in blocks of another meter: the data of an array or a tensor is in a block of malloc, which
// is in mapped memory. A leak is reported once, for the innermost block.
type inner struct {
	layers map[int]*layer // by the number of meters in which the layer's blocks lie
}

// layer has the blocks of all meters whose blocks lie in blocks of the same other meters, such as arrays and tensors.
type layer struct {
	within []event.Meter
	blocks []extent // ordered by address
}

// extent is the address and the size of a block.
type extent struct {
	at   uint64
	size event.Bytes
}

// inner collects the blocks of a process that can lie in other blocks. If the process ended, it adds the blocks that
// were freed at the end.
func (j *judge) inner(pid int32, ended bool) *inner {
	in := &inner{layers: map[int]*layer{}}
	add := func(at place, b block) {
		facts := at.meter.Facts()
		if _, _, device := at.meter.Device(); device || len(facts.Within) == 0 {
			return
		}
		blocks := in.layers[len(facts.Within)]
		if blocks == nil {
			blocks = &layer{within: facts.Within}
			in.layers[len(facts.Within)] = blocks
		}
		blocks.blocks = append(blocks.blocks, extent{at.address, b.size})
	}
	j.audit.each(pid, add)
	if ended {
		for at, b := range j.audit.departures.leaving[pid] {
			add(at, b.block)
		}
	}
	for _, l := range in.layers {
		slices.SortFunc(l.blocks, func(a, b extent) int { return cmp.Compare(a.at, b.at) })
	}
	return in
}

// isFilled reports whether inner blocks take at least half of a block.
func (in *inner) isFilled(at place, size event.Bytes) bool {
	filled := event.Bytes(0)
	for _, one := range in.layers {
		if slices.Contains(one.within, at.meter) {
			filled = max(filled, within(one.blocks, at.address, size))
		}
	}
	return at.meter.Encloses() && 2*filled >= size
}

// within returns the number of bytes of blocks that lie in [start, start+size).
func within(blocks []extent, start uint64, size event.Bytes) (sum event.Bytes) {
	i, _ := slices.BinarySearchFunc(blocks, start, func(b extent, at uint64) int { return cmp.Compare(b.at, at) })
	for ; i < len(blocks) && blocks[i].at-start < uint64(size); i++ {
		sum += blocks[i].size
	}
	return sum
}
