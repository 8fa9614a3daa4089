package attribution

import (
	"fmt"
	"slices"

	"ipytracer/event"
)

// blockModel adds NumPy's blocks to a script, and records all changes to compare with.
type blockModel struct {
	*script
	meter   event.Meter // of all blocks
	live    map[uint64]move
	address []uint64
	value   event.Bytes
	high    event.Bytes
	history []move
	starts  map[uint64]int // of cells, in history
	ends    map[uint64]int
	next    uint64
	kept    []*event.Change // changes that come after their boundary
	delay   func() bool
	between func() bool // reports for a change whether a boundary was drawn meanwhile
	swap    func() bool
	unsure  []unsure // changes of this segment during which a boundary was drawn
	since   int      // changes since the boundary
	before  int      // changes between that and the one before it
}

// unsure is a change during which a boundary was drawn, with the highest value of its segment before it.
type unsure struct {
	*event.Change
	before event.Bytes
}

type move struct {
	stack uint64
	size  event.Bytes
}

func newBlocks() *blockModel {
	return &blockModel{script: newScript(), meter: event.NumPy, live: map[uint64]move{}, starts: map[uint64]int{},
		ends: map[uint64]int{}, next: 0x1000}
}

func (s *blockModel) change(address, stack uint64, size event.Bytes) {
	before := s.high
	s.value += size
	s.high = max(s.high, s.value)
	s.stream++
	c := &event.Change{
		Stream: s.stream, Segment: s.number + 1, PID: main, Meter: s.meter, Value: s.value, Size: size,
		Address: address, Stack: stack,
		Block: s.meter.Facts().Kind == event.Total,
	}
	if s.since++; s.between != nil && s.between() {
		// its program read the segment's number before the boundary
		for c.Passed = 1; c.Passed < 3 && s.since < 4 && c.Segment > 1; c.Passed++ {
			if c.Segment--; s.before >= 4 {
				break
			}
		}
	}
	if c.Passed > 0 {
		s.unsure = append(s.unsure, unsure{c, before})
	}
	// two threads: the other one took its number first
	if n := len(s.held); s.swap != nil && n > 0 && s.stream > 2 && s.swap() {
		if other := s.held[n-1]; other.Address != address && other.Stream+1 == c.Stream {
			other.Stream, c.Stream = c.Stream, other.Stream
		}
	}
	if s.delay != nil && s.delay() {
		s.kept = append(s.kept, c)
		return
	}
	s.held = append(s.held, c)
}

func (s *blockModel) take(stack uint64, size event.Bytes) uint64 {
	s.next += 0x1000
	s.live[s.next] = move{stack, size}
	s.address = append(s.address, s.next)
	s.history = append(s.history, move{stack, size})
	s.change(s.next, stack, size)
	return s.next
}

func (s *blockModel) give(address uint64) {
	b := s.live[address]
	delete(s.live, address)
	s.address = slices.DeleteFunc(s.address, func(a uint64) bool { return a == address })
	s.history = append(s.history, move{b.stack, -b.size})
	s.change(address, 0, -b.size)
}

func (s *blockModel) cut(kind event.BoundaryKind, cell uint64) {
	for _, u := range s.unsure {
		// value and maximum came back to their earlier values: the change may be on either side
		if u.Value-u.Size == s.value && u.before == s.high {
			u.Passed, u.Segment = 0, s.number+1
		}
	}
	s.unsure = nil
	s.boundary(kind, main, func(b *event.Boundary) {
		b.Value[s.meter], b.High[s.meter] = s.value, s.high
		b.Tree[s.meter], b.TreeHigh[s.meter] = s.value, s.high
		b.Cell, b.Inputs, b.Outcome = cell, -1, event.OutcomeOK
		b.File = fmt.Sprintf("cell-%d.py", cell)
	})
	s.high, s.before, s.since = s.value, s.since, 0
	for _, c := range s.kept {
		s.events = append(s.events, c)
	}
	s.kept = nil
	if kind == event.CellOpen {
		s.starts[cell] = len(s.history)
	} else {
		s.ends[cell] = len(s.history)
	}
}

func (s *blockModel) stack(number uint64, frames ...event.Frame) {
	s.events = append(s.events, &event.Stack{Number: number, PID: main, Frames: frames})
}
