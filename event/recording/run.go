package recording

import "ipytracer/event"

// run is a number of events in a row, with memory for the frequent kinds.
type run struct {
	events     []event.Event
	changes    []event.Change
	boundaries []event.Boundary
	end        error // the end behind the events, nil if more follow
}

const (
	runs          = 3 // one is filled, one taken in, one waits
	runEvents     = 512
	runBoundaries = 64 // of 2.5 KB each
)

func newRun() *run {
	return &run{
		events:     make([]event.Event, 0, runEvents),
		changes:    make([]event.Change, 0, runEvents),
		boundaries: make([]event.Boundary, 0, runBoundaries),
	}
}

// change returns memory for a Change. A run that is nil, or full of damaged ones, has none.
func (n *run) change() *event.Change {
	if n == nil || len(n.changes) == cap(n.changes) {
		return new(event.Change)
	}
	n.changes = append(n.changes, event.Change{})
	return &n.changes[len(n.changes)-1]
}

// boundary returns memory for a Boundary, as change does.
func (n *run) boundary() *event.Boundary {
	if n == nil || len(n.boundaries) == cap(n.boundaries) {
		return new(event.Boundary)
	}
	n.boundaries = append(n.boundaries, event.Boundary{})
	return &n.boundaries[len(n.boundaries)-1]
}
