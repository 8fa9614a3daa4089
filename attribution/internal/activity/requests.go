package activity

import (
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
)

// Requests handles the events that move no meter: refused requests, moves of device memory to the host and back, and
// uses of other processes' memory.
type Requests struct {
	*windows.State
	Dropped uint64 // requests that are counted in no window
}

// Request keeps an event until the windows of its segment are open, or adds it to the windows that hold that segment.
func (rq *Requests) Request(r *windows.Tree, e event.Event) {
	at := windows.PlaceOf(e)
	if at.Segment > r.Ended {
		if len(r.Asked) < windows.MaxAsked {
			r.Asked = append(r.Asked, e)
		} else {
			rq.Dropped++
		}
		return
	}
	r.MovedOut(e)
	for _, w := range r.Counted {
		if w.FirstSegment <= at.Segment {
			w.Add(e, rq.Processes.LimitOn(e))
		} else if c, ok := e.(*event.Change); ok { // the change came late
			w.Suspended.Away = c.Caller == event.MovedOut
		}
	}
	for _, w := range rq.Table.Closed.All() {
		if w.Holds(at.Root, at.Segment) {
			w.Add(e, rq.Processes.LimitOn(e))
		}
	}
}

// AskedIn adds the requests of a segment that ends to the open windows.
func (rq *Requests) AskedIn(r *windows.Tree, segment uint64) {
	waiting := r.Asked[:0]
	for _, e := range r.Asked {
		if windows.PlaceOf(e).Segment > segment {
			waiting = append(waiting, e)
			continue
		}
		r.MovedOut(e)
		for _, w := range r.Counted {
			w.Add(e, rq.Processes.LimitOn(e))
		}
	}
	r.Asked = waiting
}
