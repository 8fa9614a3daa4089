package attribution

import (
	"slices"

	"ipytracer/event"
)

// blank is a stretch of time in which a meter's blocks came and went unseen, up to the end of the search for them.
type blank struct {
	segment uint64 // the last one before it
	// by process: the cell that ran as it began, or else the last one before; not there for none
	after   map[int32]*window
	settled bool // the search is over
	stacks  map[foundStack]uint64
}

// foundStack stands for the stack of what was found in a process.
type foundStack struct {
	pid  int32
	text string
}

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
	case isOn || !slices.Contains(event.Paused(b.Text), event.NumPy):
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
