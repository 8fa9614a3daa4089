package audit

import (
	"slices"

	"ipytracer/event"
)

// pause records how often, and for how long, a meter's blocks were not streamed.
type pause struct {
	times int               // number of pauses
	since event.Nanoseconds // the begin of the present pause, 0 for none
	sum   event.Nanoseconds // of the pauses that are over
}

func (p *pause) follow(b *event.Boundary) {
	switch {
	case b.Kind == event.MeterShed && p.since == 0:
		p.times++
		p.since = b.Time
	case b.Kind == event.MeterBack && p.since != 0:
		p.sum += max(b.Time-p.since, 0)
		p.since = 0
	}
}

// pauses are the meters with blocks that were not streamed for a while.
type pauses map[event.Meter]*pause

// follow follows which meters' blocks are not streamed. Two reasons at the same time are not distinguished.
func (all pauses) follow(b *event.Boundary) {
	for _, f := range event.Meters() {
		if slices.Contains(f.BlocksPaused, b.Group) {
			all.of(f.Meter).follow(b)
		}
	}
}

// of returns the pause of a meter, and adds an empty one if there is none.
func (all pauses) of(m event.Meter) *pause {
	if all[m] == nil {
		all[m] = &pause{}
	}
	return all[m]
}
