package attribution

import (
	"ipytracer/event"
	"ipytracer/model"
)

// requests are those that move no meter: for memory that is refused, or is of other processes.
type requests struct {
	processes *processes
	closed    *closedWindows
	dropped   uint64 // requests that are in no window
}

// request keeps it until the windows of its segment are open, or gives it to those that hold the segment.
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
		} else if c, ok := e.(*event.Change); ok { // it came late
			w.suspended.Away = c.Caller == event.MovedOut
		}
	}
	for _, w := range rq.closed.all() {
		if w.holds(at.root, at.segment) {
			w.add(e, rq.processes.limitOn(e))
		}
	}
}

// askedIn gives the requests of a segment that ends to the windows that are open.
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

type requestPlace struct {
	root            uint32
	stream, segment uint64
	meter           event.Meter
}

func placeOf(e event.Event) requestPlace {
	switch e := e.(type) {
	case *event.Refusal:
		return requestPlace{e.Root, e.Stream, e.Segment, e.Meter}
	case *event.Foreign:
		return requestPlace{e.Root, e.Stream, e.Segment, e.Meter}
	case *event.Change:
		return requestPlace{e.Root, e.Stream, e.Segment, e.Meter}
	}
	return requestPlace{}
}

// maxAsked bounds what waits for its segment to end: a target may ask in vain as often as it likes.
const maxAsked = 1 << 16

// movedOut notes whose device memory is on the host.
func (r *root) movedOut(e event.Event) {
	c, ok := e.(*event.Change)
	switch {
	case !ok:
	case c.Caller == event.MovedBack:
		delete(r.away, c.PID)
	case r.away == nil:
		r.away = map[int32]bool{c.PID: true}
	default:
		r.away[c.PID] = true
	}
}

// add counts a request in a window, whichever process of the tree made it.
func (w *window) add(e event.Event, limit event.Bytes) {
	switch e := e.(type) {
	case *event.Refusal:
		w.refuse(e, limit)
	case *event.Foreign:
		if e.Closed {
			w.foreign.Closed++
		} else {
			w.foreign.Opened++
		}
		w.foreign.Open = int(e.Open)
	case *event.Change:
		w.moves(e)
	}
}

func (w *window) refuse(e *event.Refusal, limit event.Bytes) {
	id := e.Meter.String()
	for i := range w.refused {
		if r := &w.refused[i]; r.Meter == id {
			r.Count++
			if int64(e.Asked) > r.Asked {
				r.Asked, r.Held, r.Limit, r.Caller = int64(e.Asked), int64(e.Held), int64(limit), e.Caller.String()
				w.refusedBy[i] = e.Stack
			}
			return
		}
	}
	w.refused = append(w.refused, model.Refusal{Meter: id, Asked: int64(e.Asked), Held: int64(e.Held),
		Limit: int64(limit), Count: 1, Caller: e.Caller.String()})
	w.refusedBy = append(w.refusedBy, e.Stack)
}

// moves counts that all of a process's memory on a device was moved.
func (w *window) moves(c *event.Change) {
	s := &w.suspended
	if c.Caller == event.MovedOut {
		s.Out++
		s.Bytes = max(s.Bytes, int64(-c.Size))
	} else {
		s.Back++
		s.Bytes = max(s.Bytes, int64(c.Size))
	}
}

// wasAway says whether memory of a meter was on the host: the blocks that were there are in its lines, and not in its
// figures.
func (w *window) wasAway(m event.Meter) bool {
	_, of, ok := m.Device()
	return ok && of == event.Driver && w.suspended != (model.Suspended{})
}

// suspension is whether, and how often, device memory of a window's tree was moved to the host; nil for never.
func (w *window) suspension() *model.Suspended {
	if w.suspended == (model.Suspended{}) {
		return nil
	}
	s := w.suspended
	return &s
}

// othersMemory is what a window opened and closed of other processes' memory, nil for nothing.
func (w *window) othersMemory() *model.Foreign {
	if w.foreign == (model.Foreign{}) {
		return nil
	}
	f := w.foreign
	return &f
}
