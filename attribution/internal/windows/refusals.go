package windows

import (
	"math"

	"ipytracer/event"
	"ipytracer/model"
)

// Divider is a live block of PyTorch's cache between free memory. Without it the free pieces beside it would have been
// one piece, and a refused request would have fitted into that.
type Divider struct {
	Size, Before, After event.Bytes // of the block, and free in front of it and behind it
	Stack               uint64      // that allocated the block
}

// Refusal is a refused request.
type Refusal struct {
	*event.Refusal
	// Dividers are known once all changes before the request are in.
	Dividers []Divider
}

// MovedOut records which processes have their device memory on the host.
func (r *Tree) MovedOut(e event.Event) {
	c, ok := e.(*event.Change)
	switch {
	case !ok:
	case c.Caller == event.MovedBack:
		delete(r.Away, c.PID)
	case r.Away == nil:
		r.Away = map[int32]bool{c.PID: true}
	default:
		r.Away[c.PID] = true
	}
}

// Add counts a request in a window, whichever process of the tree made it.
func (w *Window) Add(e event.Event, limit event.Bytes) {
	switch e := e.(type) {
	case *Refusal:
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

func (w *Window) refuse(e *Refusal, limit event.Bytes) {
	id, reserved := e.Meter.String(), int64(0)
	if _, kind, ok := e.Meter.Device(); ok && kind == event.Active {
		reserved = int64(min(e.Detail, math.MaxInt64))
	}
	for i := range w.Refused {
		if r := &w.Refused[i]; r.Meter == id {
			r.Count++
			if int64(e.Asked) > r.Asked {
				r.Asked, r.Held, r.Limit, r.Caller = int64(e.Asked), int64(e.Held), int64(limit), e.Caller.String()
				r.Reserved = reserved
				w.RefusedBy[i] = e
			}
			return
		}
	}
	w.Refused = append(w.Refused, model.Refusal{Meter: id, Asked: int64(e.Asked), Held: int64(e.Held),
		Reserved: reserved, Limit: int64(limit), Count: 1, Caller: e.Caller.String()})
	w.RefusedBy = append(w.RefusedBy, e)
}

// moves counts a move of all memory that a process has on a device.
func (w *Window) moves(c *event.Change) {
	s := &w.Suspended
	if c.Caller == event.MovedOut {
		s.Out++
		s.Bytes = max(s.Bytes, int64(-c.Size))
	} else {
		s.Back++
		s.Bytes = max(s.Bytes, int64(c.Size))
	}
}

// WasAway reports whether memory of a meter was on the host during a window. The blocks that were there are in the
// window's lines, and not in its figures.
func (w *Window) WasAway(m event.Meter) bool {
	_, of, ok := m.Device()
	return ok && of == event.Driver && w.Suspended != (model.Suspended{})
}

// Suspension reports how often device memory of a window's tree was moved to the host, and whether it is there; nil for
// never.
func (w *Window) Suspension() *model.Suspended {
	if w.Suspended == (model.Suspended{}) {
		return nil
	}
	s := w.Suspended
	return &s
}

// OthersMemory returns how often a window opened and closed memory of other processes; nil for never.
func (w *Window) OthersMemory() *model.Foreign {
	if w.foreign == (model.Foreign{}) {
		return nil
	}
	f := w.foreign
	return &f
}

type requestPlace struct {
	Root            uint32
	Stream, Segment uint64
	Meter           event.Meter
}

// PlaceOf returns the place of a request among the changes of its tree.
func PlaceOf(e event.Event) requestPlace {
	switch e := e.(type) {
	case *Refusal:
		return requestPlace{e.Root, e.Stream, e.Segment, e.Meter}
	case *event.Foreign:
		return requestPlace{e.Root, e.Stream, e.Segment, e.Meter}
	case *event.Change:
		return requestPlace{e.Root, e.Stream, e.Segment, e.Meter}
	}
	return requestPlace{}
}

// MaxAsked bounds the requests that wait for their segment to end: a target may make as many failing requests as it
// likes.
const MaxAsked = 1 << 16
