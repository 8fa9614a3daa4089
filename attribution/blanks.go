package attribution

import (
	"slices"

	"ipytracer/event"
)

// While NumPy's meter is stepped down arrays come and go unseen; when its probes are back, a search finds out which.
// They were made, or went, at some time since then: for certain in the windows that have been open all that time, and
// of no other it can be said. These have them from their beginning, under a name of their own.

const maxBlanks = 64

// blanksAt follows where they begin and end.
func (r *root) blanksAt(b *event.Boundary) {
	last := len(r.blanks) - 1
	isOn := last >= 0 && !r.blanks[last].settled
	switch {
	case b.Kind == event.MeterSettled:
		if isOn && !r.shed[event.NumPy].now {
			r.blanks[last].settled = true
		}
		return
	case isOn || !slices.Contains(b.Group.Paused(), event.NumPy):
		return
	}
	one := blank{after: map[int32]*window{}}
	if b.Kind == event.MeterShed {
		one.segment = b.Segment
	}
	for _, p := range r.living {
		if cell := p.cellNow(); cell != nil && b.Kind == event.MeterShed {
			one.after[p.info.PID] = cell
		}
	}
	if len(r.blanks) == maxBlanks {
		r.blanks = slices.Delete(r.blanks, 0, 1)
	}
	r.blanks = append(r.blanks, one)
}

// blankOf is the one that a change is about which a search has led to; nil where it is not known any more.
func (r *root) blankOf(c *event.Change) *blank {
	for i := range slices.Backward(r.blanks) {
		if b := &r.blanks[i]; b.segment < c.Segment {
			return b
		}
	}
	return nil
}
