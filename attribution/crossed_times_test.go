package attribution

import (
	"testing"

	"ipytracer/event"
	"ipytracer/internal/report/reporttest"
	"ipytracer/model"
)

// TestTimelineOfBoundariesThatCross: a child's boundary begins first, on another CPU, which is held up before it reads
// the clock. The kernel draws a whole statement meanwhile. The bytes that the child had added to the tree before are in
// both, and the statement has them in the timeline, too.
func TestTimelineOfBoundariesThatCross(t *testing.T) {
	const child = int32(200)
	s := newScript()
	s.openCell(1, true)
	s.boundary(event.ProcessStart, child, func(b *event.Boundary) { b.Parent = main })
	at := func(kind event.BoundaryKind, pid int32, ns event.Nanoseconds, tree event.Bytes) {
		s.number++
		b := &event.Boundary{Number: s.number, Segment: s.number, Time: s.time + ns, Kind: kind, PID: pid, TID: pid,
			Inputs: -1, Stream: s.stream}
		if pid == main {
			b.Cell, b.Line = 1, 4
			b.Value[event.Resident], b.High[event.Resident] = 50, 50
		}
		b.Tree[event.Resident], b.TreeHigh[event.Resident] = tree, tree
		s.events = append(s.events, b)
	}
	at(event.Asked, child, 60_000, 90)
	at(event.StatementOpen, main, 20_000, 90)
	at(event.StatementClose, main, 40_000, 90)
	s.closeCell(1, event.OutcomeOK)
	s.boundary(event.ProcessExit, child)
	s.boundary(event.Detached, main)
	r := s.run(t)
	if w := nth(t, r, model.Statement, 0); w.Tree["cpu.resident"].Start != 90 || w.Tree["cpu.resident"].Peak != 90 {
		t.Errorf("the statement's tree: %+v", w.Tree["cpu.resident"])
	}
	reporttest.Timeline(t, r)
}

// TestTreeWithoutWhoHasEnded: a child's exit has been drawn, and its bytes are subtracted from its tree while the
// kernel draws a statement. The tree is the sum of the live processes.
func TestTreeWithoutWhoHasEnded(t *testing.T) {
	const child = int32(200)
	s := newScript()
	s.openCell(1, true)
	s.boundary(event.ProcessStart, child, func(b *event.Boundary) { b.Parent = main })
	withChild := func(b *event.Boundary) {
		b.Cell, b.Line = 1, 4
		b.Tree[event.Resident], b.TreeHigh[event.Resident] = 90, 90
	}
	s.boundary(event.ProcessExit, child, withChild)
	s.boundary(event.StatementOpen, main, withChild)
	s.boundary(event.StatementClose, main, withChild)
	s.closeCell(1, event.OutcomeOK)
	s.boundary(event.Detached, main)
	r := s.run(t)
	if f := nth(t, r, model.Cell, 0).Tree["cpu.resident"]; f.Peak != 90 {
		t.Errorf("the cell's tree, with the child: %+v", f)
	}
	for id, f := range nth(t, r, model.Statement, 0).Tree {
		if f.Peak != 50 && id == "cpu.resident" {
			t.Errorf("the statement's tree, without it: %+v", f)
		}
	}
	reporttest.Timeline(t, r)
}
