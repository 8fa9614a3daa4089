package audit

import (
	"cmp"
	"slices"

	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
)

// leastAsked is the least size of a block, in bytes, for which holders are searched.
const leastAsked = 4 << 10

// Blocks returns the live blocks of a process for which holders can be searched, by address.
func (a *Audit) Blocks(pid int32) (all []event.Block) {
	for at, b := range a.live[pid] {
		if at.meter.Facts().Asked && b.size >= leastAsked {
			all = append(all, event.Block{Address: at.address, Size: b.size})
		}
	}
	slices.SortFunc(all, func(a, b event.Block) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(b.Size, a.Size))
	})
	return slices.CompactFunc(all, func(a, b event.Block) bool { return a.Address == b.Address })
}

// place is the meter and the address of a block in its process.
type place struct {
	meter   event.Meter
	address uint64
}

// block is a block that lives.
type block struct {
	size  event.Bytes
	stack uint64
	birth *windows.Birth
	at    event.Nanoseconds
	// sample: the block stands for other blocks of its size.
	sample bool
}
