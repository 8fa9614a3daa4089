package attribution

import (
	"cmp"
	"math"
	"slices"

	"ipytracer/event"
)

// blindness is when, by meter, something could not be probed for. gpu.0 stands for all GPUs.
type blindness map[event.Meter]stretches

func (b *blindness) add(one event.Blind) {
	if *b == nil {
		*b = blindness{}
	}
	until := one.Until
	if until == 0 {
		until = forever
	}
	(*b)[one.Meter] = (*b)[one.Meter].with(stretch{one.Since, until})
}

// of are the meters of which something is missing in what was open for a time.
func (b blindness) of(opened, closed event.Nanoseconds) (meters meterSet) {
	for m, all := range b {
		if all.meet(opened, closed) {
			meters.add(m)
		}
	}
	return meters
}

// stretch is a time from since to until.
type stretch struct{ since, until event.Nanoseconds }

// stretches are in order of time, none over another.
type stretches []stretch

// with takes one more in. Those it meets become one.
func (s stretches) with(one stretch) stretches {
	from := s.from(one.since)
	to := from
	for ; to < len(s) && s[to].since <= one.until; to++ {
		one = stretch{min(one.since, s[to].since), max(one.until, s[to].until)}
	}
	return slices.Replace(s, from, to, one)
}

// from is the first that does not end before a time.
func (s stretches) from(since event.Nanoseconds) int {
	at, _ := slices.BinarySearchFunc(s, since, func(x stretch, t event.Nanoseconds) int {
		return cmp.Compare(x.until, t)
	})
	return at
}

func (s stretches) meet(since, until event.Nanoseconds) bool {
	at := s.from(since)
	return at < len(s) && s[at].since <= until
}

// forever is later than everything.
const forever = event.Nanoseconds(math.MaxInt64)
