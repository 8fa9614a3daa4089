package windows

import (
	"slices"

	"ipytracer/event"
)

// While NumPy's meter is paused, arrays are allocated and freed unseen. When its probes are back, a search finds the
// differences. A found array came or went at some time since the pause began. Only windows that were open all that time
// count it as allocated or freed. Other windows have it from their beginning, as "found later".

const maxArrayPauses = 64

// followArrayPauses records when a pause of NumPy's meter begins, and when the search after it has settled.
func (r *Tree) followArrayPauses(b *event.Boundary) {
	last := len(r.arrayPauses) - 1
	isRunning := last >= 0 && !r.arrayPauses[last].settled
	switch {
	case b.Kind == event.MeterSettled:
		if isRunning && !r.Paused[event.NumPy].Now {
			r.arrayPauses[last].settled = true
		}
		return
	case isRunning || !slices.Contains(b.Group.Paused(), event.NumPy):
		return
	}
	pause := ArrayPause{after: map[int32]*Window{}}
	if b.Kind == event.MeterShed {
		pause.Segment = b.Segment
	}
	for _, p := range r.Living {
		if cell := p.cellNow(); cell != nil && b.Kind == event.MeterShed {
			pause.after[p.Info.PID] = cell
		}
	}
	if len(r.arrayPauses) == maxArrayPauses {
		r.arrayPauses = slices.Delete(r.arrayPauses, 0, 1)
	}
	r.arrayPauses = append(r.arrayPauses, pause)
}

// ArrayPauseOf returns the pause after which a search found a change; nil if the pause is no longer known.
func (r *Tree) ArrayPauseOf(c *event.Change) *ArrayPause {
	for i := range slices.Backward(r.arrayPauses) {
		if b := &r.arrayPauses[i]; b.Segment < c.Segment {
			return b
		}
	}
	return nil
}
