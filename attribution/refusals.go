package attribution

import (
	"math"

	"ipytracer/event"
	"ipytracer/model"
)

// divider is a live block of PyTorch's cache between free memory. Without it the free pieces beside it would have been
// one piece, and a refused request would have fitted into that.
type divider struct {
	size, before, after event.Bytes // of the block, and free in front of it and behind it
	stack               uint64      // that allocated the block
}

// refusal is a refused request.
type refusal struct {
	*event.Refusal
	// dividers are known once all changes before the request are in.
	dividers []divider
}

// movedOut records which processes have their device memory on the host.
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
	case *refusal:
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

func (w *window) refuse(e *refusal, limit event.Bytes) {
	id, reserved := e.Meter.String(), int64(0)
	if _, kind, ok := e.Meter.Device(); ok && kind == event.Active {
		reserved = int64(min(e.Detail, math.MaxInt64))
	}
	for i := range w.refused {
		if r := &w.refused[i]; r.Meter == id {
			r.Count++
			if int64(e.Asked) > r.Asked {
				r.Asked, r.Held, r.Limit, r.Caller = int64(e.Asked), int64(e.Held), int64(limit), e.Caller.String()
				r.Reserved = reserved
				w.refusedBy[i] = e
			}
			return
		}
	}
	w.refused = append(w.refused, model.Refusal{Meter: id, Asked: int64(e.Asked), Held: int64(e.Held),
		Reserved: reserved, Limit: int64(limit), Count: 1, Caller: e.Caller.String()})
	w.refusedBy = append(w.refusedBy, e)
}

// moves counts a move of all memory that a process has on a device.
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

// wasAway reports whether memory of a meter was on the host during a window. The blocks that were there are in the
// window's lines, and not in its figures.
func (w *window) wasAway(m event.Meter) bool {
	_, of, ok := m.Device()
	return ok && of == event.Driver && w.suspended != (model.Suspended{})
}

// suspension reports how often device memory of a window's tree was moved to the host, and whether it is there; nil for
// never.
func (w *window) suspension() *model.Suspended {
	if w.suspended == (model.Suspended{}) {
		return nil
	}
	s := w.suspended
	return &s
}

// othersMemory returns how often a window opened and closed memory of other processes; nil for never.
func (w *window) othersMemory() *model.Foreign {
	if w.foreign == (model.Foreign{}) {
		return nil
	}
	f := w.foreign
	return &f
}

type requestPlace struct {
	root            uint32
	stream, segment uint64
	meter           event.Meter
}

func placeOf(e event.Event) requestPlace {
	switch e := e.(type) {
	case *refusal:
		return requestPlace{e.Root, e.Stream, e.Segment, e.Meter}
	case *event.Foreign:
		return requestPlace{e.Root, e.Stream, e.Segment, e.Meter}
	case *event.Change:
		return requestPlace{e.Root, e.Stream, e.Segment, e.Meter}
	}
	return requestPlace{}
}

// maxAsked bounds the requests that wait for their segment to end: a target may make as many failing requests as it
// likes.
const maxAsked = 1 << 16
