package attributiontest

import "ipytracer/event"

// sampling is what the kernel half keeps of a process while it tells small blocks as samples.
type sampling struct {
	skipped [event.MeterCount]bool // some block of the meter was not told
	sent    event.Readings         // the highest value that was told in this segment of those that the meter fell from
}

// telling says how a block is told.
type telling uint8

const (
	told telling = iota
	asSample
	notTold
)

// tells draws how a block that is made is told: one below [event.SampleOf] bytes that is not told by itself is a sample with a probability
// of its size in that.
func (s *Session) tells(p *process, m event.Meter, size event.Bytes) telling {
	switch {
	case s.Sampled == 0 || size <= 0 || size >= event.SampleOf || !m.Facts().Sampled || s.Random.Float64() >= s.Sampled:
		return told
	case s.Random.Int64N(event.SampleOf) < int64(size):
		return asSample
	}
	p.skipped[m] = true
	return notTold
}

// untold moves a meter for a block that is not told. Where the meter falls from a value above all that were told in its segment, that is.
func (s *Session) untold(p *process, m event.Meter, size event.Bytes) {
	from := p.value[m]
	s.set(p.pid, m, from+size)
	if size < 0 && from > p.sent[m] {
		p.sent[m] = from
		s.change(event.Change{PID: p.pid, Meter: m, Value: from, Unchained: true})
	}
}
