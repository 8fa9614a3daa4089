package windows

import (
	"slices"

	"ipytracer/event"
)

// While NumPy's meter is paused, arrays are allocated and freed unseen. When its probes are back, a search finds
// which. These came or went at some time since the pause. That is certain only for the windows that have been open
// all that time. Other windows have them from their beginning, under a name of their own.

const maxArrayPauses = 64

// followArrayPauses records when a pause of NumPy's meter begins, and when the search after it has settled.
func (r *Tree) followArrayPauses(b *event.Boundary) {
	last := len(r.arrayPauses) - 1
	isOn := last >= 0 && !r.arrayPauses[last].settled
	switch {
	case b.Kind == event.MeterSettled:
		if isOn && !r.Paused[event.NumPy].Now {
			r.arrayPauses[last].settled = true
		}
		return
	case isOn || !slices.Contains(b.Group.Paused(), event.NumPy):
		return
	}
	one := ArrayPause{after: map[int32]*Window{}}
	if b.Kind == event.MeterShed {
		one.Segment = b.Segment
	}
	for _, p := range r.Living {
		if cell := p.cellNow(); cell != nil && b.Kind == event.MeterShed {
			one.after[p.Info.PID] = cell
		}
	}
	if len(r.arrayPauses) == maxArrayPauses {
		r.arrayPauses = slices.Delete(r.arrayPauses, 0, 1)
	}
	r.arrayPauses = append(r.arrayPauses, one)
}

// ArrayPauseOf returns the blank of a change that a search led to; nil if it is no longer known.
func (r *Tree) ArrayPauseOf(c *event.Change) *ArrayPause {
	for i := range slices.Backward(r.arrayPauses) {
		if b := &r.arrayPauses[i]; b.Segment < c.Segment {
			return b
		}
	}
	return nil
}
