package attribution

import (
	"testing"

	"ipytracer/event"
	"ipytracer/model"
)

// forkAndCopy returns a session in which a child shares 50 with its parent, copies 30 of it and takes 10 more.
func forkAndCopy() *script {
	s := newScript()
	start := s.events[0].(*event.Start)
	start.Meters = append(start.Meters, event.MeterSource{Meter: event.Copied, Source: "c", Exact: true})
	s.openCell(1, true)
	s.born(200, 50)
	s.boundary(event.ProcessStart, 200, func(b *event.Boundary) { b.Parent = main })
	s.to(200, 60)
	s.boundary(event.CellClose, main, func(b *event.Boundary) { b.Cell, b.Outcome = 1, event.OutcomeOK })
	s.copied(30)
	s.openCell(2, true)
	s.copied(30)
	s.closeCell(2, event.OutcomeOK)
	s.copied(30)
	s.boundary(event.Detached, main)
	return s
}

// copied sets what the child has copied, in the reading of the last boundary.
func (s *script) copied(bytes event.Bytes) {
	reading := s.events[len(s.events)-1].(*event.Reading)
	reading.Value[event.Copied], reading.High[event.Copied] = bytes, bytes
}

// TestCopied: a child has what it has copied, and shares that much less. The bound of its tree is what it can still
// share when the window begins.
func TestCopied(t *testing.T) {
	s := forkAndCopy()
	r := s.run(t)
	cell := nth(t, r, model.Cell, 0)
	if tree := cell.Tree["cpu.resident"]; tree.Exact || *tree.Bound != 50 {
		t.Errorf("%+v", tree)
	}
	child := cell.Children[0]
	expect(t, "copied", child.Meters["cpu.resident.copied"].Consumed, int64(30))
	expect(t, "shared", child.Shared["cpu.resident"], int64(20))
	expect(t, "the child's own", child.OwnMeters()["cpu.resident"].End, int64(40))
	if _, has := child.Shared["cpu.resident.copied"]; has {
		t.Error("copies are shared")
	}
	if tree := nth(t, r, model.Cell, 1).Tree["cpu.resident"]; tree.Exact || *tree.Bound != 20 {
		t.Errorf("in the next cell: %+v", tree)
	}
}

// TestCopiedAfterFork: what a child copies once it has forked itself may be what it shares with its own child. Of its
// parent it can share as much as before.
func TestCopiedAfterFork(t *testing.T) {
	s := newScript()
	start := s.events[0].(*event.Start)
	start.Meters = append(start.Meters, event.MeterSource{Meter: event.Copied, Source: "c", Exact: true})
	s.openCell(1, true)
	s.born(200, 50)
	s.boundary(event.ProcessStart, 200, func(b *event.Boundary) { b.Parent = main })
	s.born(300, 50)
	s.boundary(event.ProcessStart, 300, func(b *event.Boundary) { b.Parent = 200 })
	s.copied(10) // by 200: the reading of 300 is in the boundary itself
	s.order = []int32{main, 300, 200}
	s.boundary(event.CellClose, main, func(b *event.Boundary) { b.Cell, b.Outcome = 1, event.OutcomeOK })
	s.copied(30)
	s.openCell(2, true)
	s.copied(30)
	s.closeCell(2, event.OutcomeOK)
	s.copied(30)
	s.boundary(event.Detached, main)
	r := s.run(t)
	for _, c := range nth(t, r, model.Cell, 0).Children {
		want := map[int]int64{200: 40, 300: 50}[c.PID]
		expect(t, "shared", c.Shared["cpu.resident"], want)
	}
	if tree := nth(t, r, model.Cell, 1).Tree["cpu.resident"]; tree.Exact || *tree.Bound != 90 {
		t.Errorf("in the next cell: %+v, bound %d", tree, *tree.Bound)
	}
}
