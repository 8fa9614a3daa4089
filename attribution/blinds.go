package attribution

import (
	"slices"

	"ipytracer/event"
)

// blind records for how long a meter's blocks were not streamed, and how often that began.
type blind struct {
	times int
	since event.Nanoseconds // 0: they are streamed
	sum   event.Nanoseconds
}

func (one *blind) turn(b *event.Boundary) {
	switch {
	case b.Kind == event.MeterShed && one.since == 0:
		one.times++
		one.since = b.Time
	case b.Kind == event.MeterBack && one.since != 0:
		one.sum += max(b.Time-one.since, 0)
		one.since = 0
	}
}

// blinds are the meters with blocks that were not streamed for a while.
type blinds map[event.Meter]*blind

// turn follows which meters' blocks are not streamed. Two reasons at the same time are not distinguished.
func (all blinds) turn(b *event.Boundary) {
	for _, f := range event.Meters() {
		if slices.Contains(f.Untold, b.Group) {
			all.of(f.Meter).turn(b)
		}
	}
}

// of returns for how long a meter's blocks were not streamed.
func (all blinds) of(m event.Meter) *blind {
	if all[m] == nil {
		all[m] = &blind{}
	}
	return all[m]
}
