package course

import (
	"slices"

	"ipytracer/event"
)

// Share is the highest value of a process's meter in the segment of a summit.
type Share struct {
	PID   int32
	Bytes event.Bytes
}

// Summit is the segment in which a meter of a tree was highest.
type Summit struct {
	Meter  event.Meter
	Peak   event.Bytes // of the tree
	Shares []Share     // of its processes
}

// Tree has the summits of a tree, by meter. The zero value has none.
type Tree struct{ all []Summit }

// Rises takes in the highest value of a meter in a segment that is over, and reports whether it is higher than all
// before. If so, the segment becomes the summit, and its shares are those that the function shares appends.
func (t *Tree) Rises(m event.Meter, high event.Bytes, shares func([]Share) []Share) bool {
	i, found := slices.BinarySearchFunc(t.all, m, func(s Summit, m event.Meter) int { return int(s.Meter) - int(m) })
	switch {
	case high <= 0 || found && high <= t.all[i].Peak:
		return false
	case !found:
		t.all = slices.Insert(t.all, i, Summit{Meter: m})
	}
	summit := &t.all[i]
	summit.Peak, summit.Shares = high, shares(summit.Shares[:0])
	return true
}

// All returns the summits, by meter.
func (t *Tree) All() []Summit { return t.all }
