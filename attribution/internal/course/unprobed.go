package course

import (
	"cmp"
	"math"
	"slices"

	"ipytracer/event"
)

// Unprobed records, by meter, the times in which a library that the meter needs could not be probed. gpu.0 stands for
// all GPUs.
type Unprobed map[event.Meter]Spans

// Add records a time in which a meter could not be probed.
func (b *Unprobed) Add(unprobed event.Unprobed) {
	if *b == nil {
		*b = Unprobed{}
	}
	until := unprobed.Until
	if until == 0 {
		until = Forever
	}
	(*b)[unprobed.Meter] = (*b)[unprobed.Meter].With(Span{unprobed.Since, until})
}

// Of returns the meters that could not be probed at some time from opened to closed.
func (b Unprobed) Of(opened, closed event.Nanoseconds) (meters MeterSet) {
	for m, all := range b {
		if all.Overlap(opened, closed) {
			meters.add(m)
		}
	}
	return meters
}

// Span is the time from Since to Until.
type Span struct{ Since, Until event.Nanoseconds }

// Spans are in order of time and do not overlap.
type Spans []Span

// With returns the spans and one more. The new span is joined with the spans that it overlaps or touches.
func (s Spans) With(span Span) Spans {
	from := s.from(span.Since)
	to := from
	for ; to < len(s) && s[to].Since <= span.Until; to++ {
		span = Span{min(span.Since, s[to].Since), max(span.Until, s[to].Until)}
	}
	return slices.Replace(s, from, to, span)
}

// from returns the index of the first span that does not end before a time.
func (s Spans) from(since event.Nanoseconds) int {
	at, _ := slices.BinarySearchFunc(s, since, func(x Span, t event.Nanoseconds) int {
		return cmp.Compare(x.Until, t)
	})
	return at
}

// Overlap reports whether any span overlaps the time from since to until.
func (s Spans) Overlap(since, until event.Nanoseconds) bool {
	at := s.from(since)
	return at < len(s) && s[at].Since <= until
}

// Forever is later than any time.
const Forever = event.Nanoseconds(math.MaxInt64)

// MeterSet is a set of meters.
type MeterSet [(event.MeterCount + 63) / 64]uint64

func (s *MeterSet) add(m event.Meter) { s[m/64] |= 1 << (m % 64) }

// AddAll adds the meters of another set.
func (s *MeterSet) AddAll(other MeterSet) {
	for i := range s {
		s[i] |= other[i]
	}
}

// Has reports whether a meter is in the set.
func (s *MeterSet) Has(m event.Meter) bool { return s[m/64]>>(m%64)&1 != 0 }
