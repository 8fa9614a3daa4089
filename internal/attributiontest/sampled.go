package attributiontest

import (
	"math/rand/v2"

	"ipytracer/event"
)

// block is a live block.
type block struct {
	meter   event.Meter
	size    event.Bytes
	address uint64
	as      telling
}

// telling is the way in which a block is streamed.
type telling uint8

const (
	told     telling = iota // as itself
	asSample                // as a sample, which stands for several blocks
	notTold                 // not at all
)

// sampling is the state that the kernel half keeps of a process while it streams samples of small blocks.
type sampling struct {
	skipped [event.MeterCount]bool // by meter: some block was not streamed
	sent    event.Readings         // by meter: the highest value that was streamed in this segment before a fall
}

// draw chooses at random how an allocated block is streamed. share is the share of the blocks below [event.SampleOf]
// bytes that are not streamed as themselves. Such a block is a sample with the probability size/SampleOf.
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

// falls reports whether the value from which a meter falls is streamed. It is if it is higher than all values that were
// streamed before in the segment.
func (g *sampling) falls(m event.Meter, from event.Bytes) bool {
	if from <= g.sent[m] {
		return false
	}
	g.sent[m] = from
	return true
}

// moves allocates the block in a process, or frees it if the size is negative. b.as says how the change is streamed.
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
