package attribution

import (
	"slices"

	"ipytracer/event"
)

// line is what the meters did of a process, or of a tree.
type line struct {
	tracks []*track          // by meter, ascending
	began  event.Nanoseconds // since when it is known what they do
	isOn   bool              // of a tree: there is more than one process in it
}

// find is where a meter's track is, or would be.
func (l *line) find(m event.Meter) (at int, found bool) {
	return slices.BinarySearchFunc(l.tracks, m, func(k *track, m event.Meter) int { return int(k.meter) - int(m) })
}
