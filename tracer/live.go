package tracer

import (
	"cmp"
	"slices"

	"ipytracer/event"
	"ipytracer/internal/python/holders/objects"
)

// live holds the allocated blocks of the traced processes for which to search holders, from the change stream. They are
// NumPy's data, page-locked memory and PyTorch's blocks on the CPU and on GPUs.
type live struct {
	blocks  map[liveKey]event.Bytes // sizes
	crowded bool                    // some were left out
}

type liveKey struct {
	pid     int32
	meter   event.Meter
	address uint64
}

const (
	smallestLive = 4 << 10 // bytes
	maxLive      = 200_000 // beyond that the smallest are dropped
)

// change records that a block was allocated, resized or freed.
func (l *live) change(c *event.Change) {
	if !c.IsBlock() || !c.Meter.Facts().Asked {
		return
	}
	key := liveKey{c.PID, c.Meter, c.Address}
	size, known := l.blocks[key]
	switch size += c.Size; {
	case known && size <= 0:
		delete(l.blocks, key)
	case known || size >= smallestLive:
		l.add(key, size)
	}
}

// add adds a block.
func (l *live) add(key liveKey, size event.Bytes) {
	if l.blocks == nil {
		l.blocks = map[liveKey]event.Bytes{}
	}
	l.blocks[key] = size
	if len(l.blocks) > maxLive {
		l.thin()
	}
}

// thin drops the smaller half of the blocks.
func (l *live) thin() {
	l.crowded = true
	sizes := make([]event.Bytes, 0, len(l.blocks))
	for _, size := range l.blocks {
		sizes = append(sizes, size)
	}
	slices.Sort(sizes)
	limit, drop := sizes[len(sizes)/2], len(sizes)/2
	for _, below := range []bool{true, false} { // of many blocks of the same size, it drops only some
		for key, size := range l.blocks {
			if drop > 0 && (size < limit || !below && size == limit) {
				delete(l.blocks, key)
				drop--
			}
		}
	}
}

// boundary drops the blocks that are gone or may change unrecorded from now on.
func (l *live) boundary(b *event.Boundary) {
	switch {
	case b.Kind == event.ProcessExec || b.Kind == event.ProcessExit:
		l.forget(func(k liveKey) bool { return k.pid == b.PID })
	case b.Kind == event.MeterShed:
		forgotten := b.Group.Forgotten()
		l.forget(func(k liveKey) bool { return slices.Contains(forgotten, k.meter.Template()) })
	}
}

func (l *live) forget(which func(liveKey) bool) {
	for key := range l.blocks {
		if which(key) {
			delete(l.blocks, key)
		}
	}
}

// of returns the blocks of a process.
func (l *live) of(pid int) (out []objects.Block) {
	for key, size := range l.blocks {
		if key.pid == int32(pid) {
			out = append(out, objects.Block{Address: key.address, Size: uint64(size)})
		}
	}
	slices.SortFunc(out, func(a, b objects.Block) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(b.Size, a.Size))
	})
	return slices.CompactFunc(out, func(a, b objects.Block) bool { return a.Address == b.Address })
}
