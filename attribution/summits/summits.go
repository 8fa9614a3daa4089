// Package summits records the highest moments of a tree of processes: what each process had of a meter then, and the
// blocks that a process had. It is pure: it learns of a moment when the segment that has it is over.
package summits

import (
	"slices"

	"ipytracer/event"
)

// Level is the most that a process had of a meter in a segment.
type Level struct {
	PID   int32
	Bytes event.Bytes
}

// Summit is the segment in which a meter of a tree was highest.
type Summit struct {
	Meter event.Meter
	Peak  event.Bytes // of the tree
	Of    []Level     // of its processes
}

// Tree has the summits of a tree, by meter. The zero value has none.
type Tree struct{ all []Summit }

// Rises takes in the highest value of a meter in a segment that is over. Where it is higher than all before, Rises
// replaces the levels of the summit by those that levels appends, and returns true.
func (t *Tree) Rises(m event.Meter, high event.Bytes, levels func([]Level) []Level) bool {
	i, found := slices.BinarySearchFunc(t.all, m, func(s Summit, m event.Meter) int { return int(s.Meter) - int(m) })
	switch {
	case high <= 0 || found && high <= t.all[i].Peak:
		return false
	case !found:
		t.all = slices.Insert(t.all, i, Summit{Meter: m})
	}
	one := &t.all[i]
	one.Peak, one.Of = high, levels(one.Of[:0])
	return true
}

// All returns the summits, by meter.
func (t *Tree) All() []Summit { return t.all }
