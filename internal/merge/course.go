package merge

import (
	"slices"

	"ipytracer/event"
)

// course has the values of a tree of processes from boundary to boundary, by the clock of the tree's machine.
type course struct {
	pid      int
	segments []segment
	highest  int64
}

// segment is the time between two boundaries. high is the tree's largest value in it, and value the tree's value at its
// end.
type segment struct{ from, to, high, value int64 }

// add adds the segment that ends at a time. A CPU reads the clock a moment before the meters, so the boundaries of two
// CPUs can be out of order by that moment: then a segment spans the times of both. add returns false if it only
// extended the last segment.
func (c *course) add(at, high, value int64) (added bool) {
	c.highest = max(c.highest, high)
	last := len(c.segments) - 1
	if last < 0 {
		c.segments = append(c.segments, segment{at, at, high, value})
		return true
	}
	before := &c.segments[last]
	if high == before.high && value == before.value {
		before.to = max(before.to, at)
		return false
	}
	c.segments = append(c.segments, segment{min(before.to, at), max(before.to, at), high, value})
	return true
}

// halve joins every two segments into one that is as high as the higher of them.
func (c *course) halve() {
	kept := c.segments[:0]
	for pair := range slices.Chunk(c.segments, 2) {
		s := pair[0]
		if len(pair) == 2 {
			s.from, s.to = min(s.from, pair[1].from), max(s.to, pair[1].to)
			s.high, s.value = max(s.high, pair[1].high), max(s.value, pair[1].value)
		}
		kept = append(kept, s)
	}
	c.segments = slices.Clip(kept)
}

// at returns the value at the last boundary up to a time; 0 before the first boundary and after the last.
func (c *course) at(time int64) int64 {
	if len(c.segments) == 0 || time > c.segments[len(c.segments)-1].to {
		return 0
	}
	value := int64(0)
	for i := range c.segments {
		if c.segments[i].to > time {
			break
		}
		value = c.segments[i].value
	}
	return value
}

const (
	// maxSegments bounds the segments of all recordings together.
	maxSegments = 1 << 20
	// leastSegments is the number of segments that each recording may have, however many recordings there are.
	leastSegments = 1 << 10
	// maxTrees bounds the attached processes of a recording.
	maxTrees = 1 << 10
	// latestTime bounds the times of a clock: 36 years after boot.
	latestTime = 1 << 60
	// highestValue bounds values, at 256 TiB, so that the sum over all trees does not overflow.
	highestValue = 1 << 48
)

// Reader reads the events of one recording.
type Reader struct {
	meter        event.Meter
	room         int
	segments     int
	start        *event.Host
	trees        map[uint32]*course
	order        []*course
	tooManyTrees bool // more trees than maxTrees
	isStrange    bool // a time, or a value, that no machine has
}

// Add adds an event. It keeps no reference to the event.
func (r *Reader) Add(e event.Event) {
	switch e := e.(type) {
	case *event.Start:
		if r.start == nil {
			host := e.Host
			r.start = &host
		}
	case *event.Boundary:
		r.boundary(e)
	}
}

// boundary adds the segment of a tree that ends at a boundary. It halves all courses when they have no more room.
func (r *Reader) boundary(b *event.Boundary) {
	if b.Time < 0 || b.Time >= latestTime {
		r.isStrange = true
		return
	}
	c := r.trees[b.Root]
	if c == nil || b.Kind == event.Attached { // a later tree may get the number of one that has ended
		if len(r.order) >= maxTrees {
			r.tooManyTrees = true
			return
		}
		c = &course{pid: int(b.PID)}
		r.trees[b.Root] = c
		r.order = append(r.order, c)
	}
	high, value := int64(b.TreeHigh[r.meter]), int64(b.Tree[r.meter])
	if high > highestValue || value > highestValue {
		r.isStrange = true
		return
	}
	if !c.add(int64(b.Time), max(0, high), max(0, value)) {
		return
	}
	if r.segments++; r.segments > r.room {
		r.segments = 0
		for _, c := range r.order {
			if len(c.segments) > 1 {
				c.halve()
			}
			r.segments += len(c.segments)
		}
	}
}
