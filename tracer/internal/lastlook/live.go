package lastlook

import (
	"cmp"
	"maps"
	"slices"

	"ipytracer/event"
	"ipytracer/internal/python/holders/objects"
)

// Live has, from the change stream, the live blocks of the traced processes for which holders are searched: NumPy's
// data, page-locked memory, and PyTorch's blocks on the CPU and on GPUs.
type Live struct {
	blocks  map[LiveKey]event.Bytes // sizes
	crowded bool                    // some were left out
}

type LiveKey struct {
	PID     int32
	meter   event.Meter
	Address uint64
}

const (
	smallestLive = 4 << 10 // bytes
	maxLive      = 200_000 // beyond that the smallest are dropped
)

// Change records that a block was allocated, resized or freed.
func (l *Live) Change(c *event.Change) {
	if !c.IsBlock() || !c.Meter.Facts().Asked {
		return
	}
	key := LiveKey{c.PID, c.Meter, c.Address}
	size, known := l.blocks[key]
	switch size += c.Size; {
	case known && size <= 0:
		delete(l.blocks, key)
	case known || size >= smallestLive:
		l.Add(key, size)
	}
}

// Add adds a block.
func (l *Live) Add(key LiveKey, size event.Bytes) {
	if l.blocks == nil {
		l.blocks = map[LiveKey]event.Bytes{}
	}
	l.blocks[key] = size
	if len(l.blocks) > maxLive {
		l.thin()
	}
}

// thin drops the smaller half of the blocks.
func (l *Live) thin() {
	l.crowded = true
	sizes := slices.Sorted(maps.Values(l.blocks))
	limit, drop := sizes[len(sizes)/2], len(sizes)/2
	// First the blocks below the median go, then as many of its size as are needed.
	for _, below := range []bool{true, false} {
		for key, size := range l.blocks {
			if drop > 0 && (size < limit || !below && size == limit) {
				delete(l.blocks, key)
				drop--
			}
		}
	}
}

// Boundary drops the blocks that are gone or may change unrecorded from now on.
func (l *Live) Boundary(b *event.Boundary) {
	switch {
	case b.Kind == event.ProcessExec || b.Kind == event.ProcessExit:
		maps.DeleteFunc(l.blocks, func(k LiveKey, _ event.Bytes) bool { return k.PID == b.PID })
	case b.Kind == event.MeterShed:
		forgotten := b.Group.Forgotten()
		maps.DeleteFunc(l.blocks, func(k LiveKey, _ event.Bytes) bool {
			return slices.Contains(forgotten, k.meter.Template())
		})
	}
}

// blocksOf returns the blocks of a process.
func (l *Live) blocksOf(pid int) (out []objects.Block) {
	for key, size := range l.blocks {
		if key.PID == int32(pid) {
			out = append(out, objects.Block{Address: key.Address, Size: uint64(size)})
		}
	}
	slices.SortFunc(out, func(a, b objects.Block) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(b.Size, a.Size))
	})
	return slices.CompactFunc(out, func(a, b objects.Block) bool { return a.Address == b.Address })
}
