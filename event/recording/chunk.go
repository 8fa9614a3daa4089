package recording

import "ipytracer/event"

// chunk has consecutive events, with memory for the frequent kinds.
type chunk struct {
	events     []event.Event
	changes    []event.Change
	boundaries []event.Boundary
	end        error // why no events follow: io.EOF or a failure; nil if more follow
}

const (
	chunks          = 3 // one is being filled, one is being visited, one waits
	chunkEvents     = 512
	chunkBoundaries = 64 // fewer than events: a boundary takes 2.5 KB
)

func newChunk() *chunk {
	return &chunk{
		events:     make([]event.Event, 0, chunkEvents),
		changes:    make([]event.Change, 0, chunkEvents),
		boundaries: make([]event.Boundary, 0, chunkBoundaries),
	}
}

// change returns memory for a Change: new memory if n is nil or full.
func (n *chunk) change() *event.Change {
	if n == nil || len(n.changes) == cap(n.changes) {
		return new(event.Change)
	}
	n.changes = append(n.changes, event.Change{})
	return &n.changes[len(n.changes)-1]
}

// boundary returns memory for a Boundary, as change does.
func (n *chunk) boundary() *event.Boundary {
	if n == nil || len(n.boundaries) == cap(n.boundaries) {
		return new(event.Boundary)
	}
	n.boundaries = append(n.boundaries, event.Boundary{})
	return &n.boundaries[len(n.boundaries)-1]
}
