package attribution

import (
	"slices"

	"ipytracer/event"
)

// blind is how long a meter's blocks were not told of, and how often that began.
type blind struct {
	times int
	since event.Nanoseconds // 0: they are told of
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

// blinds are the meters of whose blocks it was not told for a while.
type blinds map[event.Meter]*blind

// turn follows which meters' blocks are not told. That there are two reasons at a time is not told apart.
func (all blinds) turn(b *event.Boundary) {
	for _, f := range event.Meters() {
		if slices.Contains(f.Untold, b.Group) {
			all.of(f.Meter).turn(b)
		}
	}
}

// of returns how long a meter's blocks were not told of.
func (all blinds) of(m event.Meter) *blind {
	if all[m] == nil {
		all[m] = &blind{}
	}
	return all[m]
}
