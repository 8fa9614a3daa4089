package stacks

import "ipytracer/event"

// Crest remembers which blocks a process had when its tree was highest. It keeps no copy of them: it keeps, for each
// stack, the bytes that came since, so a moment costs no more than the changes after it. The blocks of the moment are
// those of now without these.
//
// A moment is a value from which resident memory fell, or the end of a segment. An allocator says that a block is free
// before it gives the pages back. So where resident memory falls, the blocks that were freed since the last one was
// allocated were still in memory.
type Crest struct {
	// top is the highest moment of the tree so far, here the process's own highest in the segment that runs.
	top, here highMoment
	freed     map[On]event.Bytes // since a block was last allocated
	lost      bool
}

// On is a meter of blocks and a stack that allocated some.
type On struct {
	Meter event.Meter
	Stack uint64
}

// highMoment is a moment in the past.
type highMoment struct {
	value event.Bytes        // of resident memory
	since map[On]event.Bytes // bytes allocated since, less those freed
}

// maxSince bounds the stacks that a moment remembers; with more, the blocks of the crest are lost.
const maxSince = 1 << 18

// NewCrest returns the crest of a process that has no blocks yet, or none that are known.
func NewCrest() *Crest {
	return &Crest{top: highMoment{since: map[On]event.Bytes{}}, here: highMoment{since: map[On]event.Bytes{}},
		freed: map[On]event.Bytes{}}
}

// Moves takes in that a stack's blocks became more, or less, by some bytes.
func (c *Crest) Moves(k On, by event.Bytes) {
	if c.lost || by == 0 {
		return
	}
	c.top.since[k] += by
	c.here.since[k] += by
	if by > 0 {
		c.freed = emptied(c.freed)
	} else {
		c.freed[k] += by
	}
	if len(c.top.since) > maxSince {
		c.Lose()
	}
}

// Falls takes in that resident memory falls from a value.
func (c *Crest) Falls(from event.Bytes) {
	if c.lost || from <= c.here.value {
		return
	}
	c.here.value, c.here.since = from, emptied(c.here.since)
	for k, by := range c.freed {
		c.here.since[k] = by
	}
}

// Ends takes in the end of a segment in which the process's own resident memory had a highest value. isTop: the tree
// was never higher than in it.
func (c *Crest) Ends(high event.Bytes, isTop bool) {
	if c.lost {
		return
	}
	if high > c.here.value { // it rose to that, up to now
		c.here.since = emptied(c.here.since)
	}
	if isTop {
		c.top, c.here = c.here, c.top
	}
	c.here.value, c.here.since = 0, emptied(c.here.since)
}

// Lose forgets the blocks of the crest for good: some have come or gone unseen.
func (c *Crest) Lose() { *c = Crest{lost: true} }

// Since returns the bytes that each stack has now and did not have at the crest; negative for those that it had and has
// no more. ok is false if that is not known. The caller must not change them.
func (c *Crest) Since() (since map[On]event.Bytes, ok bool) {
	if c == nil || c.lost {
		return nil, false
	}
	return c.top.since, true
}

// emptied returns an empty map: a large one is not kept, as it would take as long to empty as it once was large.
func emptied(m map[On]event.Bytes) map[On]event.Bytes {
	const small = 64
	if len(m) > small {
		return map[On]event.Bytes{}
	}
	clear(m)
	return m
}
