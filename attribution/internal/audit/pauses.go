package audit

import (
	"slices"

	"ipytracer/event"
)

// pause records for how long a meter's blocks were not streamed, and how often that began.
type pause struct {
	times int
	since event.Nanoseconds // 0: they are streamed
	sum   event.Nanoseconds
}

func (one *pause) turn(b *event.Boundary) {
	switch {
	case b.Kind == event.MeterShed && one.since == 0:
		one.times++
		one.since = b.Time
	case b.Kind == event.MeterBack && one.since != 0:
		one.sum += max(b.Time-one.since, 0)
		one.since = 0
	}
}

// pauses are the meters with blocks that were not streamed for a while.
type pauses map[event.Meter]*pause

// turn follows which meters' blocks are not streamed. Two reasons at the same time are not distinguished.
func (all pauses) turn(b *event.Boundary) {
	for _, f := range event.Meters() {
		if slices.Contains(f.BlocksPaused, b.Group) {
			all.of(f.Meter).turn(b)
		}
	}
}

// of returns for how long a meter's blocks were not streamed.
func (all pauses) of(m event.Meter) *pause {
	if all[m] == nil {
		all[m] = &pause{}
	}
	return all[m]
}
