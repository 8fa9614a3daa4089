package attribution

import (
	"slices"

	"ipytracer/event"
)

// line is the course of the meters of a process, or of a tree.
type line struct {
	tracks []*track          // by meter, ascending
	began  event.Nanoseconds // the time from which their values are known
	isOn   bool              // of a tree: it has more than one process
}

// find returns the index of a meter's track, or the index for a new one.
func (l *line) find(m event.Meter) (at int, found bool) {
	return slices.BinarySearchFunc(l.tracks, m, func(k *track, m event.Meter) int { return int(k.meter) - int(m) })
}
