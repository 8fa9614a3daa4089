package attribution

import (
	"cmp"
	"math"
	"slices"

	"ipytracer/event"
)

// blindness records, by meter, the times in which something could not be probed. gpu.0 stands for all GPUs.
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

// of returns the meters that miss something between two times.
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

// stretches are in order of time and do not overlap.
type stretches []stretch

// with adds one stretch. Those that it meets are merged with it.
func (s stretches) with(one stretch) stretches {
	from := s.from(one.since)
	to := from
	for ; to < len(s) && s[to].since <= one.until; to++ {
		one = stretch{min(one.since, s[to].since), max(one.until, s[to].until)}
	}
	return slices.Replace(s, from, to, one)
}

// from returns the index of the first stretch that does not end before a time.
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

// forever is later than any time.
const forever = event.Nanoseconds(math.MaxInt64)

// meterSet is a set of meters.
type meterSet [(event.MeterCount + 63) / 64]uint64

func (s *meterSet) add(m event.Meter) { s[m/64] |= 1 << (m % 64) }

func (s *meterSet) with(other meterSet) {
	for i := range s {
		s[i] |= other[i]
	}
}

func (s *meterSet) has(m event.Meter) bool { return s[m/64]>>(m%64)&1 != 0 }
