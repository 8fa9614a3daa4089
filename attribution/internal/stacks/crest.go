package stacks

import "ipytracer/event"

// Crest remembers which blocks a process had when its tree was highest. It keeps no copy of these blocks. For each
// stack it keeps the bytes that were allocated since, so a moment costs no more than the changes after it. The blocks
// of the moment are the present blocks without those bytes.
//
// A moment is a value from which resident memory fell, or the end of a segment. An allocator says that a block is free
// before it gives the pages back. So at the moment from which resident memory falls, blocks were still in memory if
// they were freed after the last allocation.
type Crest struct {
	// top is the highest moment of the tree so far. here is the process's own highest moment in the segment that runs.
	top, own highMoment
	freed    map[MeterStack]event.Bytes // bytes (negative) freed since a block was last allocated
	lost     bool                       // see [Crest.Lose]
}

// MeterStack is a meter of blocks, and a stack that allocated blocks of the meter.
type MeterStack struct {
	Meter event.Meter
	Stack uint64
}

// highMoment is a moment in the past.
type highMoment struct {
	value event.Bytes                // of resident memory
	since map[MeterStack]event.Bytes // bytes allocated since, less those freed
}

// maxSince bounds the stacks for which a moment remembers bytes. With more stacks the crest gives up: the blocks at the
// highest moment are then unknown.
const maxSince = 1 << 18

// NewCrest returns the crest of a process without known blocks.
func NewCrest() *Crest {
	return &Crest{
		top:   highMoment{since: map[MeterStack]event.Bytes{}},
		own:   highMoment{since: map[MeterStack]event.Bytes{}},
		freed: map[MeterStack]event.Bytes{},
	}
}

// Add takes in by how many bytes a stack's blocks became more or, if by is negative, less.
func (c *Crest) Add(k MeterStack, by event.Bytes) {
	if c.lost || by == 0 {
		return
	}
	c.top.since[k] += by
	c.own.since[k] += by
	if by > 0 {
		c.freed = emptied(c.freed)
	} else {
		c.freed[k] += by
	}
	if len(c.top.since) > maxSince {
		c.Lose()
	}
}

// NoteFall takes in that resident memory falls from a value.
func (c *Crest) NoteFall(from event.Bytes) {
	if c.lost || from <= c.own.value {
		return
	}
	c.own.value, c.own.since = from, emptied(c.own.since)
	for k, by := range c.freed {
		c.own.since[k] = by
	}
}

// EndSegment takes in the end of a segment. high is the highest value of the process's own resident memory in the
// segment. isTop: the tree was never higher than in this segment.
func (c *Crest) EndSegment(high event.Bytes, isTop bool) {
	if c.lost {
		return
	}
	if high > c.own.value { // it rose to that, up to now
		c.own.since = emptied(c.own.since)
	}
	if isTop {
		c.top, c.own = c.own, c.top
	}
	c.own.value, c.own.since = 0, emptied(c.own.since)
}

// Lose gives the crest up for good, because blocks have come or gone unseen.
func (c *Crest) Lose() { *c = Crest{lost: true} }

// Since returns by how many bytes each stack holds more now than at the crest; less is negative. ok is false if that is
// not known. The caller must not change the map.
func (c *Crest) Since() (since map[MeterStack]event.Bytes, ok bool) {
	if c == nil || c.lost {
		return nil, false
	}
	return c.top.since, true
}

// emptied returns an empty map. It does not keep a map that was large: the larger a map has ever been, the longer it
// takes to clear.
func emptied(m map[MeterStack]event.Bytes) map[MeterStack]event.Bytes {
	const small = 64
	if len(m) > small {
		return map[MeterStack]event.Bytes{}
	}
	clear(m)
	return m
}
