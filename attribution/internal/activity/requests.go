package activity

import (
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
)

// Requests handles refused requests, moves of device memory to the host and back, and uses of other processes' memory.
// Such an event moves no meter.
type Requests struct {
	*windows.State
	Dropped uint64 // number of requests that are in no window, for lack of room
}

// Add keeps an event until the windows of its segment are open, or adds it to the windows that hold that segment.
func (rq *Requests) Add(tree *windows.Tree, e event.Event) {
	place := windows.PlaceOf(e)
	if place.Segment > tree.Ended {
		if len(tree.Asked) < windows.MaxAsked {
			tree.Asked = append(tree.Asked, e)
		} else {
			rq.Dropped++
		}
		return
	}
	tree.MovedOut(e)
	for _, window := range tree.Counted {
		if window.FirstSegment <= place.Segment {
			window.AddRequest(e, rq.Processes.LimitOn(e))
		} else if c, ok := e.(*event.Change); ok { // the change came late
			window.Suspended.Away = c.Caller == event.MovedOut
		}
	}
	for _, w := range rq.Table.Closed.All() {
		if w.Holds(place.Root, place.Segment) {
			w.AddRequest(e, rq.Processes.LimitOn(e))
		}
	}
}

// AddAsked adds the requests of a segment that ends to the open windows.
func (rq *Requests) AddAsked(tree *windows.Tree, segment uint64) {
	waiting := tree.Asked[:0]
	for _, e := range tree.Asked {
		if windows.PlaceOf(e).Segment > segment {
			waiting = append(waiting, e)
			continue
		}
		tree.MovedOut(e)
		for _, w := range tree.Counted {
			w.AddRequest(e, rq.Processes.LimitOn(e))
		}
	}
	tree.Asked = waiting
}
