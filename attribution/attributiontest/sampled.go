package attributiontest

import (
	"math/rand/v2"

	"ipytracer/event"
)

// block is one that lives.
type block struct {
	meter   event.Meter
	size    event.Bytes
	address uint64
	as      telling
}

// telling says how a block is told.
type telling uint8

const (
	told telling = iota
	asSample
	notTold
)

// sampling is what the kernel half keeps of a process while it tells small blocks as samples.
type sampling struct {
	skipped [event.MeterCount]bool // some block of the meter was not told
	sent    event.Readings         // the highest value that was told in this segment of those that the meter fell from
}

// draw draws how a block that is made is told: one below [event.SampleOf] bytes that is not told by itself, as some of
// share are, is a sample with a probability of its size in that.
func (g *sampling) draw(random *rand.Rand, share float64, m event.Meter, size event.Bytes) telling {
	switch {
	case share == 0 || size <= 0 || size >= event.SampleOf || !m.Facts().Sampled || random.Float64() >= share:
		return told
	case random.Int64N(event.SampleOf) < int64(size):
		return asSample
	}
	g.skipped[m] = true
	return notTold
}

// falls reports whether the value from which a meter falls is told: one above all that were in its segment.
func (g *sampling) falls(m event.Meter, from event.Bytes) bool {
	if from <= g.sent[m] {
		return false
	}
	g.sent[m] = from
	return true
}

// moves makes the block in a process, or frees it where the size is negative, and tells that as the block is told.
func (b block) moves(s *Session, p *process, size event.Bytes, stack uint64) {
	from := p.value[b.meter]
	s.set(p.pid, b.meter, from+size)
	switch {
	case b.as != notTold:
		s.change(event.Change{
			PID: p.pid, Meter: b.meter, Value: p.value[b.meter], Size: size, Address: b.address, Stack: stack,
			Block:  b.meter.Facts().Kind != event.Blocks,
			Sample: b.as == asSample, Unchained: p.skipped[b.meter],
		})
	case size < 0 && p.falls(b.meter, from):
		s.change(event.Change{PID: p.pid, Meter: b.meter, Value: from, Unchained: true})
	}
}
