package windows

import (
	"math"

	"ipytracer/event"
	"ipytracer/model"
)

// Divider is a live block of PyTorch's cache between two free pieces. Without the block, both pieces would have been
// one, into which a refused request would have fitted.
type Divider struct {
	Size, Before, After event.Bytes // bytes of the block, and free bytes in front of it and behind it
	Stack               uint64      // the stack that allocated the block
}

// Refusal is a refused request.
type Refusal struct {
	*event.Refusal
	// Dividers are known once all changes before the request are in.
	Dividers []Divider
}

// MovedOut records whether a process has its device memory on the host, if the event is such a move.
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

// AddRequest counts a request in a window, whichever process of the tree made it.
func (w *Window) AddRequest(e event.Event, limit event.Bytes) {
	switch e := e.(type) {
	case *Refusal:
		w.addRefused(e, limit)
	case *event.Foreign:
		if e.Closed {
			w.foreign.Closed++
		} else {
			w.foreign.Opened++
		}
		w.foreign.Open = int(e.Open)
	case *event.Change:
		w.countMove(e)
	}
}

func (w *Window) addRefused(e *Refusal, limit event.Bytes) {
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

// countMove counts a move of all memory that a process has on a device.
func (w *Window) countMove(c *event.Change) {
	s := &w.Suspended
	if c.Caller == event.MovedOut {
		s.Out++
		s.Bytes = max(s.Bytes, int64(-c.Size))
	} else {
		s.Back++
		s.Bytes = max(s.Bytes, int64(c.Size))
	}
}

// WasAway reports whether device memory of a meter was on the host at some time in a window. The blocks on the host are
// in the window's lines, but not in its figures.
func (w *Window) WasAway(m event.Meter) bool {
	_, kind, ok := m.Device()
	return ok && kind == event.Driver && w.Suspended != (model.Suspended{})
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

// MaxAsked bounds the requests that wait for their segment to end: a target may make any number of failing requests.
const MaxAsked = 1 << 16
