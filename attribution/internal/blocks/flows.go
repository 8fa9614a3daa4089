package blocks

import (
	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/stacks"
	"ipytracer/event"
)

// Flow is what the processes of a tree have allocated since it was last taken, by stack.
type Flow struct {
	Allocated map[event.Meter]map[uint64]event.Bytes
	entries   int
	Values    map[course.Key]valueAt // of processes that live
}

// valueAt is the value of a meter after a change in a segment.
type valueAt struct {
	Segment uint64
	Bytes   event.Bytes
}

// notKept is the number that stands for stacks without room.
const notKept = 0x6e07_4e97_0000_0001

// add adds a block that was allocated.
func (f *Flow) add(h *stacks.Holdings, key course.Key, b stacks.Block) {
	if f == nil || b.Size <= 0 {
		return
	}
	by := f.of(key.Meter)
	switch _, known := by[b.Stack]; {
	case known:
	case f.entries >= h.Known.Room.Tallies:
		h.Dropped++
		b.Stack = notKept
	default:
		f.entries++
	}
	by[b.Stack] += b.Size
}

// Drop adds a block that was allocated and found no room.
func (f *Flow) Drop(key course.Key, size event.Bytes) {
	if f != nil && size > 0 {
		f.of(key.Meter)[notKept] += size
	}
}

func (f *Flow) of(m event.Meter) map[uint64]event.Bytes {
	by := f.Allocated[m]
	if by == nil {
		by = map[uint64]event.Bytes{}
		f.Allocated[m] = by
	}
	return by
}

// Leads records the value that a change leads to.
func (f *Flow) Leads(c *event.Change) {
	if c.Size != 0 {
		f.Values[course.Key{PID: c.PID, Meter: c.Meter}] = valueAt{c.Segment, c.Value}
	}
}

// Clear begins again.
func (f *Flow) Clear() {
	*f = Flow{Allocated: map[event.Meter]map[uint64]event.Bytes{}, Values: map[course.Key]valueAt{}}
}
