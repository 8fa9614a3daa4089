package course

import (
	"slices"

	"ipytracer/event"
)

// Share is the highest value of a process's meter in a segment.
type Share struct {
	PID   int32
	Bytes event.Bytes
}

// Summit is the segment in which a meter of a tree was highest.
type Summit struct {
	Meter event.Meter
	Peak  event.Bytes // of the tree
	Of    []Share     // of its processes
}

// Tree has the summits of a tree, by meter. The zero value has none.
type Tree struct{ all []Summit }

// Rises takes in the highest value of a meter in a segment that is over. If it is higher than all before, the segment
// becomes the summit: Rises replaces the summit's shares by those that the function shares appends, and returns true.
func (t *Tree) Rises(m event.Meter, high event.Bytes, shares func([]Share) []Share) bool {
	i, found := slices.BinarySearchFunc(t.all, m, func(s Summit, m event.Meter) int { return int(s.Meter) - int(m) })
	switch {
	case high <= 0 || found && high <= t.all[i].Peak:
		return false
	case !found:
		t.all = slices.Insert(t.all, i, Summit{Meter: m})
	}
	one := &t.all[i]
	one.Peak, one.Of = high, shares(one.Of[:0])
	return true
}

// All returns the summits, by meter.
func (t *Tree) All() []Summit { return t.all }
