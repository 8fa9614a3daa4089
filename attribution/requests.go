package attribution

import (
	"ipytracer/event"
)

// requests handles the events that move no meter: refused requests, moves of device memory to the host and back, and
// uses of other processes' memory.
type requests struct {
	*state
	dropped uint64 // requests that are counted in no window
}

// request keeps an event until the windows of its segment are open, or adds it to the windows that hold that segment.
func (rq *requests) request(r *root, e event.Event) {
	at := placeOf(e)
	if at.segment > r.ended {
		if len(r.asked) < maxAsked {
			r.asked = append(r.asked, e)
		} else {
			rq.dropped++
		}
		return
	}
	r.movedOut(e)
	for _, w := range r.counted {
		if w.firstSegment <= at.segment {
			w.add(e, rq.processes.limitOn(e))
		} else if c, ok := e.(*event.Change); ok { // the change came late
			w.suspended.Away = c.Caller == event.MovedOut
		}
	}
	for _, w := range rq.table.closed.all() {
		if w.holds(at.root, at.segment) {
			w.add(e, rq.processes.limitOn(e))
		}
	}
}

// askedIn adds the requests of a segment that ends to the open windows.
func (rq *requests) askedIn(r *root, segment uint64) {
	waiting := r.asked[:0]
	for _, e := range r.asked {
		if placeOf(e).segment > segment {
			waiting = append(waiting, e)
			continue
		}
		r.movedOut(e)
		for _, w := range r.counted {
			w.add(e, rq.processes.limitOn(e))
		}
	}
	r.asked = waiting
}
