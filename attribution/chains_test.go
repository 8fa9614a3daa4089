package attribution

import (
	"testing"

	"ipytracer/attribution/internal/course"
	"ipytracer/event"
)

// TestChangesBeforeTheirBoundaries: a tracer that got no CPU time reads thousands of changes before the boundaries
// between them, one of them made as a boundary was drawn.
func TestChangesBeforeTheirBoundaries(t *testing.T) {
	for _, many := range []int{100, 2*course.MaxWaiting + 100} {
		s := newBlocks()
		s.stack(1, event.Frame{Function: "f", File: "lib.py", Line: 1})
		s.take(1, 1000)
		s.cut(event.CellOpen, 1)
		s.take(1, 100)
		s.between = func() bool { return true }
		s.take(1, 7)
		s.between = nil
		s.cut(event.CellClose, 1)
		s.cut(event.CellOpen, 2)
		for range many {
			s.take(1, 10)
		}
		for _, a := range s.address[3:] {
			s.give(a)
		}
		s.cut(event.CellClose, 2)
		var changes, others []event.Event
		for _, e := range s.events[1:] {
			if _, ok := e.(*event.Change); ok {
				changes = append(changes, e)
			} else {
				others = append(others, e)
			}
		}
		s.events = append(append(s.events[:1:1], changes...), others...)
		r := s.run(t)
		for i := range 2 {
			s.check(t, nth(t, r, "cell", i), uint64(i+1))
		}
	}
}

// TestLossBreaksTheChain: the changes that wait for a lost one are taken in after a while, and the next cells are
// exact.
func TestLossBreaksTheChain(t *testing.T) {
	s := newBlocks()
	s.stack(1, event.Frame{Function: "f", File: "lib.py", Line: 1})
	s.cut(event.CellOpen, 1)
	s.take(1, 1000)
	lost := s.stream + 1
	s.lose = func(stream uint64) bool { return stream == lost }
	s.take(1, 500)
	s.take(1, 50)
	s.cut(event.CellClose, 1)
	for cell := uint64(2); cell < 20; cell++ {
		s.cut(event.CellOpen, cell)
		s.take(1, 10)
		s.cut(event.CellClose, cell)
	}
	r := s.run(t)
	if c := nth(t, r, "cell", 0).Coverage["cpu.numpy"]; c.Exact {
		t.Errorf("a change was lost: %+v", c)
	}
	for i := 1; i < 19; i++ {
		if c := nth(t, r, "cell", i).Coverage["cpu.numpy"]; !c.Exact ||
			c.AtPeak+c.Rest != nth(t, r, "cell", i).Meters["cpu.numpy"].Peak {
			t.Errorf("cell %d: %+v", i+1, c)
		}
	}
}
