package course

import (
	"cmp"
	"slices"

	"ipytracer/event"
)

// Each change of a meter of blocks leads from one value to the next. So the values give the true order of the changes,
// even if one thread overtook another between taking a number and changing the meter. They also give the side of a
// boundary on which a change lies that was made while the boundary was being drawn: the boundary lies where the changes
// had reached the value and the high that the kernel half recorded at the boundary.

// Chains has the values at a tree's boundaries, and its chains of changes.
type Chains struct {
	cuts     []cutValues // a ring: the last MaxCuts boundaries
	recorded int         // number of boundaries recorded so far
	chains   map[Key]*chain
	last     *chain // the chain that was looked up last: most changes are of one meter
	key      Key    // of last
}

// cutValues has the values and highs at the end of a segment, ordered by pid, of the meters whose changes are chained.
type cutValues struct {
	segment uint64
	moved   []movedValues
}

type movedValues struct {
	pid           int32
	values, highs Levels
}

// of returns the values and highs of a process, nil if it did not move.
func (c *cutValues) of(pid int32) *movedValues {
	at, found := slices.BinarySearchFunc(c.moved, pid,
		func(one movedValues, pid int32) int { return cmp.Compare(one.pid, pid) })
	if !found {
		return nil
	}
	return &c.moved[at]
}

// chain is the chain of changes of one meter of one process.
type chain struct {
	value    event.Bytes // the value after the last change
	known    bool
	restarts bool   // some changes were not streamed: the next change begins the chain
	segment  uint64 // the segment of the last change
	// high is the highest value in segment of. knowHigh: all changes of that segment are known, so high is right.
	high     event.Bytes
	knowHigh bool
	// loose are changes that do not begin at value. The changes in between are still to come, or were lost.
	loose []event.Change
	since uint64 // the last segment that had ended when the first loose change came
	// until is the segment whose beginning a change waits for; 0 for none. All later changes wait with it.
	until uint64
	kept  int    // number of changes that wait
	skips uint64 // losses of changes up to the last call of Link
}

const (
	// MaxCuts is the number of segment ends that are kept: a change comes soon after its boundary.
	MaxCuts = 64
	// MaxWaiting is the largest number of changes that wait for a boundary. The boundary may never come: the kernel
	// half may have had no room for it.
	MaxWaiting = 1 << 12
	// maxLoose is the largest number of loose changes that wait for the change before them.
	maxLoose = 32
	// maxSince is the largest number of segments for which loose changes wait.
	maxSince = 8
	// manyMoved is the number of processes above which a boundary's memory is not used again.
	manyMoved = 64
)

func (s *Chains) chain(key Key) *chain {
	if s.last != nil && key == s.key {
		return s.last
	}
	c := s.chains[key]
	if c == nil {
		if s.chains == nil {
			s.chains = map[Key]*chain{}
		}
		c = &chain{}
		s.chains[key] = c
	}
	s.key, s.last = key, c
	return c
}

// Link takes in a change, and passes changes on in the order in which they changed the meter. ended is the last segment
// that ended. skips is the number of losses of changes so far: if it has grown, the chain begins anew.
func (s *Chains) Link(c *event.Change, ended, skips uint64, handOn func(*event.Change)) {
	ch := s.chain(Key{c.PID, c.Meter})
	if skips != ch.skips || c.Unchained {
		ch.skips, ch.knowHigh = skips, false
		ch.giveUp(handOn)
		ch.advance(c, handOn)
		return
	}
	if ch.restarts {
		ch.restarts = false
		ch.advance(c, handOn)
		return
	}
	if !ch.known {
		ch.value, ch.known = s.at(c.Segment-1, Key{c.PID, c.Meter})
	}
	if ch.known && c.Value-c.Size != ch.value {
		if len(ch.loose) == 0 {
			ch.since = ended
		}
		if ch.loose = append(ch.loose, *c); len(ch.loose) > maxLoose {
			ch.giveUp(handOn)
		}
		return
	}
	ch.advance(c, handOn)
	for len(ch.loose) > 0 {
		i := slices.IndexFunc(ch.loose, func(c event.Change) bool { return c.Value-c.Size == ch.value })
		if i < 0 {
			break
		}
		next := ch.loose[i]
		ch.loose = slices.Delete(ch.loose, i, i+1)
		ch.advance(&next, handOn)
	}
}

func (ch *chain) advance(c *event.Change, handOn func(*event.Change)) {
	ch.value, ch.known = c.Value, true
	handOn(c)
}

// giveUp passes the loose changes on in the order in which they came. Changes between them were lost.
func (ch *chain) giveUp(handOn func(*event.Change)) {
	loose := ch.loose
	ch.knowHigh = ch.knowHigh && len(loose) == 0
	ch.loose = nil
	for i := range loose {
		ch.advance(&loose[i], handOn)
	}
}

// Flush passes on the loose changes that waited long enough or, if all is set, all of them.
func (s *Chains) Flush(ended uint64, all bool, handOn func(*event.Change)) {
	var due []Key
	for key, ch := range s.chains {
		if len(ch.loose) > 0 && (all || ended > ch.since+maxSince) {
			due = append(due, key)
		}
	}
	slices.SortFunc(due, func(a, b Key) int {
		return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.Meter, b.Meter))
	})
	for _, key := range due {
		s.chains[key].giveUp(handOn)
	}
}

// Record records the values and highs at a boundary.
func (s *Chains) Record(segment uint64, m SegmentEnds, meters []event.Meter) {
	if len(s.cuts) < MaxCuts {
		s.cuts = append(s.cuts, cutValues{})
	}
	cut := s.cut(s.recorded)
	s.recorded++
	if cut.segment = segment; cap(cut.moved) > manyMoved {
		cut.moved = nil
	}
	all := slices.Grow(cut.moved[:0], len(m))
	for pid, one := range m {
		all = all[:len(all)+1]
		last := &all[len(all)-1]
		last.pid = pid
		last.values = chained(last.values[:0], one.Value, meters)
		last.highs = chained(last.highs[:0], one.High, meters)
	}
	if len(all) > 1 {
		slices.SortFunc(all, func(a, b movedValues) int { return cmp.Compare(a.pid, b.pid) })
	}
	cut.moved = all
}

// chained appends the readings that are not 0, of the meters whose changes lead from one value to the next.
func chained(levels Levels, readings *event.Readings, meters []event.Meter) Levels {
	for _, m := range meters {
		if v := readings[m]; v != 0 && m.Facts().Chained() {
			levels = append(levels, Level{v, m})
		}
	}
	return levels
}

// cut returns the place in the ring of the n-th boundary.
func (s *Chains) cut(n int) *cutValues { return &s.cuts[n%MaxCuts] }

// at returns a meter's value at the end of a segment; ok is false if it is not known. A process that a boundary does
// not name has not moved since an earlier boundary.
func (s *Chains) at(segment uint64, key Key) (value event.Bytes, ok bool) {
	i, first := s.recorded-1, s.recorded-len(s.cuts)
	for i >= first && s.cut(i).segment != segment {
		i--
	}
	for ; i >= first; i-- {
		if moved := s.cut(i).of(key.PID); moved != nil && s.cut(i).segment <= segment {
			return moved.values.Of(key.Meter), true
		}
	}
	return 0, false
}

// highest returns the highest value of a meter in a segment that ended; ok is false if it is not known. A process that
// the segment's boundary does not name did not move in the segment.
func (s *Chains) highest(segment uint64, key Key) (value event.Bytes, ok bool) {
	for i := s.recorded - 1; i >= s.recorded-len(s.cuts); i-- {
		if cut := s.cut(i); cut.segment == segment {
			if moved := cut.of(key.PID); moved != nil {
				return moved.highs.Of(key.Meter), true
			}
			return s.at(segment, key)
		}
	}
	return 0, false
}

// Restart begins a meter's chain anew. It is called for a change of no block: such a change shows that other changes
// are not streamed.
func (s *Chains) Restart(c *event.Change, handOn func(*event.Change)) {
	ch := s.chain(Key{c.PID, c.Meter})
	ch.giveUp(handOn)
	ch.restarts, ch.knowHigh = true, false
}

// WaitsFor returns the segment whose beginning a change has to wait for, 0 if it need not wait. If too many changes
// wait, late is not 0: the caller must first process the waiting changes of the segments up to late.
func (s *Chains) WaitsFor(c *event.Change, ended uint64) (until, late uint64) {
	if !c.Meter.Facts().Chained() {
		return 0, 0
	}
	ch := s.chain(Key{c.PID, c.Meter})
	if last := c.Segment + uint64(c.Passed); c.Passed > 0 && last > ended+1 {
		ch.until = max(ch.until, last)
	}
	if ch.until == 0 {
		return 0, 0
	}
	if c.Segment <= ended+1 { // a change of a later segment waits anyway
		ch.kept++
	}
	if ch.kept > MaxWaiting {
		late, ch.until, ch.kept = ch.until, 0, 0
		return 0, late
	}
	return max(ch.until, c.Segment), 0
}

// Passed ends the waiting for segments up to upTo.
func (s *Chains) Passed(upTo uint64) {
	for _, ch := range s.chains {
		if ch.until <= upTo {
			ch.until, ch.kept = 0, 0
		}
	}
}

// Segment returns the segment that a change belongs to. It must be called for the changes in their order.
func (s *Chains) Segment(c *event.Change) uint64 {
	if !c.Meter.Facts().Chained() || !c.IsBlock() || c.Unchained {
		return c.Segment
	}
	key := Key{c.PID, c.Meter}
	ch := s.chain(key)
	from := c.Value - c.Size
	if c.Segment > ch.segment {
		v, known := s.at(c.Segment-1, key)
		ch.begin(c.Segment, from, known && v == from)
	}
	if c.Passed == 0 {
		ch.high = max(ch.high, c.Value)
		return c.Segment
	}
	for last := c.Segment + uint64(c.Passed); ch.segment < last; {
		v, known := s.at(ch.segment, key)
		high, ended := s.highest(ch.segment, key)
		if !known || !ended || from != v || ch.knowHigh && ch.high < high {
			break
		}
		ch.begin(ch.segment+1, from, true)
	}
	ch.high = max(ch.high, c.Value)
	return min(max(ch.segment, c.Segment), c.Segment+uint64(c.Passed))
}

// begin moves the chain on to a segment, with a change that leads from a value. complete: the segment begins at that
// value, so no change of it is missing so far.
func (ch *chain) begin(segment uint64, value event.Bytes, complete bool) {
	ch.segment, ch.high, ch.knowHigh = segment, value, complete
}
