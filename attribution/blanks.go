package attribution

import (
	"slices"

	"ipytracer/event"
)

// While NumPy's meter is stepped down, arrays are allocated and freed unseen. When its probes are back, a search finds
// which. These came or went at some time since the step-down. That is certain only for the windows that have been open
// all that time. Other windows have them from their beginning, under a name of their own.

const maxBlanks = 64

// blanksAt follows where these times begin and end.
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

// blankOf returns the blank of a change that a search led to; nil if it is no longer known.
func (r *root) blankOf(c *event.Change) *blank {
	for i := range slices.Backward(r.blanks) {
		if b := &r.blanks[i]; b.segment < c.Segment {
			return b
		}
	}
	return nil
}
