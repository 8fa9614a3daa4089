package attribution

import (
	"testing"

	"ipytracer/event"
	"ipytracer/model"
)

// countingCopies returns a session in which copies are counted.
func countingCopies() *script {
	s := newScript()
	start := s.events[0].(*event.Start)
	start.Meters = append(start.Meters, event.MeterSource{Meter: event.Copied, Source: "c", Exact: true})
	return s
}

// forkAndCopy returns a session in which a child shares 50 with its parent, copies 30 of it and takes 10 more.
func forkAndCopy() *script {
	s := countingCopies()
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
	s := countingCopies()
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

// TestWhoMadeCopied: what a child and a child of its copy is listed by the stack that mapped it in the process that
// forked them; what nobody is known to have mapped has no stack.
func TestWhoMadeCopied(t *testing.T) {
	s := countingCopies()
	s.events = append(s.events, &event.Stack{Number: 7, PID: main,
		Frames: []event.Frame{{Function: "made", File: "a.py", Line: 3}}})
	s.openCell(1, true)
	send := func(c event.Change) {
		s.stream++
		c.Stream, c.Segment, c.Block = s.stream, s.number+1, true
		s.held = append(s.held, &c)
	}
	send(event.Change{PID: main, Meter: event.Mapped, Value: 8 * page, Address: 16 * page, Size: 8 * page, Stack: 7})
	s.born(200, 50)
	s.boundary(event.ProcessStart, 200, func(b *event.Boundary) { b.Parent = main })
	s.born(300, 50)
	s.boundary(event.ProcessStart, 300, func(b *event.Boundary) { b.Parent = 200 })
	copies := func(pid int32, at int, bytes event.Bytes) {
		send(event.Change{PID: pid, Meter: event.Copied, Sample: true, Value: bytes, Address: uint64(at) * page,
			Size: page, StandsFor: bytes})
	}
	copies(200, 17, 30)
	copies(200, 40, 4)
	copies(300, 23, 20)
	copies(300, 16, 5)
	s.boundary(event.CellClose, main, func(b *event.Boundary) { b.Cell, b.Outcome = 1, event.OutcomeOK })
	s.boundary(event.Detached, main)
	want := []model.Copied{{PID: 200, Bytes: 30}, {PID: 300, Bytes: 25}, {PID: 200, Bytes: 4}}
	r := s.run(t)
	if len(r.Copied) != len(want) {
		t.Fatalf("%+v", r.Copied)
	}
	for i, row := range r.Copied {
		isMade := len(row.Stack) == 1 && row.Stack[0].Function == "made"
		if row.PID != want[i].PID || row.Bytes != want[i].Bytes || isMade != (i < 2) {
			t.Errorf("%d: %+v", i, row)
		}
	}
}
