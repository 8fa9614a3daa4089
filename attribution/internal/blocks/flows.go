package blocks

import (
	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/stacks"
	"ipytracer/event"
)

// Flow has the bytes that the processes of a tree have allocated since the last Clear. A nil Flow takes nothing in.
type Flow struct {
	Allocated map[event.Meter]map[uint64]event.Bytes // by meter and stack
	entries   int                                    // number of stacks in Allocated
	Values    map[course.Key]valueAt                 // last values of live processes
}

// valueAt is the value of a meter after a change in a segment.
type valueAt struct {
	Segment uint64
	Bytes   event.Bytes
}

// notKept is the number of the stack under which blocks of stacks without room are counted.
const notKept = 0x6e07_4e97_0000_0001

// add adds a block that was allocated.
func (f *Flow) add(h *stacks.Holdings, key course.Key, b stacks.Block) {
	if f == nil || b.Size <= 0 {
		return
	}
	allocated := f.allocatedOn(key.Meter)
	switch _, known := allocated[b.Stack]; {
	case known:
	case f.entries >= h.Known.Room.Tallies:
		h.Dropped++
		b.Stack = notKept
	default:
		f.entries++
	}
	allocated[b.Stack] += b.Size
}

// Drop adds a block that was allocated and found no room.
func (f *Flow) Drop(key course.Key, size event.Bytes) {
	if f != nil && size > 0 {
		f.allocatedOn(key.Meter)[notKept] += size
	}
}

func (f *Flow) allocatedOn(m event.Meter) map[uint64]event.Bytes {
	by := f.Allocated[m]
	if by == nil {
		by = map[uint64]event.Bytes{}
		f.Allocated[m] = by
	}
	return by
}

// RecordValue records the value that a change leads to.
func (f *Flow) RecordValue(c *event.Change) {
	if c.Size != 0 {
		f.Values[course.Key{PID: c.PID, Meter: c.Meter}] = valueAt{c.Segment, c.Value}
	}
}

// Clear begins again.
func (f *Flow) Clear() {
	*f = Flow{Allocated: map[event.Meter]map[uint64]event.Bytes{}, Values: map[course.Key]valueAt{}}
}
