package attribution

import "ipytracer/tracer/event"

// A change of a meter of blocks that was made while a boundary was being drawn is on one side of it. The kernel's value at the
// boundary says on which: a process's changes of a meter lead from one value to the next, and the boundary lies where they had
// led to its value.

// sides is what is known of a tree's boundaries to tell.
type sides struct {
	cuts map[uint64]moves // what the boundaries said that ended the last segments
	// waits are meters of which a change waits for its segment to end; all later ones wait with it, up to that segment.
	waits map[heldKey]uint64
	kept  int // changes that wait
	// passed are the segments that the changes have come to; key's is in of.
	passed map[heldKey]uint64
	key    heldKey
	of     uint64
}

const (
	// maxCuts is how many segments' ends are remembered: a change comes soon behind its boundary.
	maxCuts = 64
	// maxWaiting is how many changes wait for a boundary. It may not come: where it found no room there is none.
	maxWaiting = 1 << 12
)

// isChained says whether each change of a meter says from which value it led to which.
func isChained(m event.Meter) bool {
	return m == event.NumPy || m == event.Torch || m == event.Heap || m == event.Pinned
}

// note remembers what a boundary said.
func (s *sides) note(segment uint64, m moves) {
	if s.cuts == nil {
		s.cuts = map[uint64]moves{}
	}
	s.cuts[segment] = m
	delete(s.cuts, segment-maxCuts)
}

// at returns a meter's value where a segment ended: processes that a boundary does not name had not moved since one before.
func (s *sides) at(segment uint64, key heldKey) (event.Bytes, bool) {
	for n := segment; n > 0 && n+maxCuts > segment; n-- {
		if m, ok := s.cuts[n][key.pid]; ok {
			return m.value[key.meter], true
		}
		if n == segment && s.cuts[n] == nil {
			break
		}
	}
	return 0, false
}

// waitsFor says up to which segment's beginning a change has to wait, 0 for not at all.
func (s *sides) waitsFor(c *event.Change, ended uint64) uint64 {
	key := heldKey{c.PID, c.Meter}
	until := s.waits[key]
	if c.Between && isChained(c.Meter) && c.Segment > ended {
		until = max(until, c.Segment+1)
	}
	if until == 0 {
		return 0
	}
	if s.waits == nil {
		s.waits = map[heldKey]uint64{}
	}
	s.waits[key] = until
	s.kept++
	return max(until, c.Segment)
}

// heard ends the waiting for segments up to this one.
func (s *sides) heard(upTo uint64) {
	for key, until := range s.waits {
		if until <= upTo {
			delete(s.waits, key)
		}
	}
	if len(s.waits) == 0 {
		s.kept = 0
	}
}

// segment is the one that a change belongs to. Changes are to be asked about in their order.
func (s *sides) segment(c *event.Change) uint64 {
	if !isChained(c.Meter) {
		return c.Segment
	}
	key := heldKey{c.PID, c.Meter}
	if key != s.key { // most changes are of one meter
		if s.passed == nil {
			s.passed = map[heldKey]uint64{}
		}
		s.passed[s.key] = s.of
		s.key, s.of = key, s.passed[key]
	}
	if !c.Between {
		s.of = max(s.of, c.Segment)
		return c.Segment
	}
	if v, ok := s.at(c.Segment, key); ok && c.Value-c.Size == v {
		s.of = max(s.of, c.Segment+1)
	}
	if s.of > c.Segment {
		return c.Segment + 1
	}
	return c.Segment
}
