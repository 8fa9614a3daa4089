package attribution

import (
	"math"
	"strings"
	"testing"

	"ipytracer/event"
	"ipytracer/model"
)

// in returns an edit of a boundary: the process is in container 7 with a limit of 1000.
func in(usage, highest event.Bytes) func(*event.Boundary) {
	return func(b *event.Boundary) {
		b.Container = event.Container{Number: 7, Usage: usage, Highest: highest, Limit: 1000}
	}
}

// cellIn makes a cell with a statement in a container. Each pair is its use and its highest use, at a boundary.
func (s *script) cellIn(cell uint64, at [4][2]event.Bytes) {
	edit := func(i int, more func(b *event.Boundary)) func(*event.Boundary) {
		return func(b *event.Boundary) {
			in(at[i][0], at[i][1])(b)
			more(b)
		}
	}
	done := func(b *event.Boundary) { b.Cell, b.Outcome = cell, event.OutcomeOK }
	s.boundary(event.CellOpen, main, edit(0, func(b *event.Boundary) { b.Cell, b.Inputs = cell, -1 }))
	s.boundary(event.StatementOpen, main, edit(1, func(b *event.Boundary) { b.Cell, b.Line = cell, 1 }))
	s.boundary(event.StatementClose, main, edit(2, done))
	s.boundary(event.CellClose, main, edit(3, done))
}

// batch is the bound of the script's machine: two CPUs, pages of 4 KiB.
const batch = 2 * 64 * 4096

func TestContainerOfWindows(t *testing.T) {
	for name, tt := range map[string]struct {
		at              [4][2]event.Bytes
		cell, statement model.Container
	}{
		"risen in the statement": {
			[4][2]event.Bytes{{100, 400}, {110, 400}, {150, 600}, {140, 600}},
			model.Container{AtLeast: 600, Highest: 600, Exact: true, Start: 100, End: 140},
			model.Container{AtLeast: 600, Highest: 600, Exact: true, Start: 110, End: 150},
		},
		"risen behind the statement": {
			[4][2]event.Bytes{{100, 400}, {110, 400}, {150, 400}, {140, 401}},
			model.Container{AtLeast: 401, Highest: 401, Exact: true, Start: 100, End: 140},
			model.Container{AtLeast: 150, Highest: 400, Start: 110, End: 150},
		},
		"not risen": {
			[4][2]event.Bytes{{100, 400}, {310, 400}, {150, 400}, {140, 400}},
			model.Container{AtLeast: 310, Highest: 400, Start: 100, End: 140},
			model.Container{AtLeast: 310, Highest: 400, Start: 310, End: 150},
		},
		"never higher than where it began": {
			[4][2]event.Bytes{{400, 400}, {390, 400}, {150, 400}, {140, 400}},
			model.Container{AtLeast: 400, Highest: 400, Exact: true, Start: 400, End: 140},
			model.Container{AtLeast: 390, Highest: 400, Start: 390, End: 150},
		},
		"reset in the statement": {
			[4][2]event.Bytes{{100, 400}, {310, 400}, {150, 200}, {140, 200}},
			model.Container{AtLeast: 310, Start: 100, End: 140},
			model.Container{AtLeast: 310, Start: 310, End: 150},
		},
		"reset, and higher again": {
			[4][2]event.Bytes{{100, 400}, {110, 400}, {150, 200}, {140, 390}},
			model.Container{AtLeast: 390, Start: 100, End: 140},
			model.Container{AtLeast: 200, Start: 110, End: 150},
		},
		"used a moment before it was the highest": {
			[4][2]event.Bytes{{100, 400}, {450, 400}, {150, 450}, {140, 450}},
			model.Container{AtLeast: 450, Highest: 450, Exact: true, Start: 100, End: 140},
			model.Container{AtLeast: 450, Highest: 450, Exact: true, Start: 450, End: 150},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript()
			s.cellIn(1, tt.at)
			s.boundary(event.Detached, main)
			r := s.run(t)
			tt.cell.Limit, tt.cell.Bound, tt.statement.Limit, tt.statement.Bound = 1000, batch, 1000, batch
			expect(t, "the cell", *nth(t, r, model.Cell, 0).Container, tt.cell)
			expect(t, "the statement", *nth(t, r, model.Statement, 0).Container, tt.statement)
			expect(t, "the session, which was attached without one", nth(t, r, model.Session, 0).Container,
				(*model.Container)(nil))
		})
	}
}

// TestContainerOfResets: a window in which nobody wrote to memory.peak has the highest use since the last write, if it
// rose in the window, and at most that if it did not. With a write in the window only the part behind it is certain.
func TestContainerOfResets(t *testing.T) {
	type at struct {
		usage, local event.Bytes
		resets       uint32
	}
	for name, tt := range map[string]struct {
		at              [4]at
		cell, statement model.Container
	}{
		"risen in the statement": {
			[4]at{{100, 120, 2}, {110, 120, 2}, {150, 300, 2}, {140, 300, 2}},
			model.Container{AtLeast: 300, Highest: 300, Exact: true},
			model.Container{AtLeast: 300, Highest: 300, Exact: true},
		},
		"not risen": {
			[4]at{{100, 120, 2}, {110, 120, 2}, {105, 120, 2}, {90, 120, 2}},
			model.Container{AtLeast: 110, Highest: 120},
			model.Container{AtLeast: 110, Highest: 120},
		},
		"a write behind the statement": {
			[4]at{{100, 120, 2}, {110, 120, 2}, {150, 300, 2}, {140, 160, 3}},
			model.Container{AtLeast: 300, Highest: 900},
			model.Container{AtLeast: 300, Highest: 300, Exact: true},
		},
		"a write in front of the statement": {
			[4]at{{100, 120, 2}, {110, 115, 3}, {150, 850, 3}, {140, 850, 3}},
			model.Container{AtLeast: 850, Highest: 900},
			model.Container{AtLeast: 850, Highest: 850, Exact: true},
		},
		"a write at the beginning, and one at the end": {
			[4]at{{100, 800, 0}, {110, 800, 3}, {150, 870, 3}, {140, 140, 0}},
			model.Container{AtLeast: 870, Highest: 900},
			model.Container{AtLeast: 870, Highest: 870, Exact: true},
		},
		"never seen": {
			[4]at{{100, 300, 0}, {110, 310, 0}, {150, 350, 0}, {140, 350, 0}},
			model.Container{AtLeast: 150, Highest: 900},
			model.Container{AtLeast: 150, Highest: 900},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript()
			for i, kind := range []event.BoundaryKind{event.CellOpen, event.StatementOpen, event.StatementClose,
				event.CellClose} {
				s.boundary(kind, main, func(b *event.Boundary) {
					in(tt.at[i].usage, 900)(b)
					b.Container.Local, b.Container.Resets = tt.at[i].local, tt.at[i].resets
					b.Cell, b.Inputs, b.Line = 1, -1, 1
				})
			}
			r := s.run(t)
			for kind, want := range map[string]model.Container{model.Cell: tt.cell, model.Statement: tt.statement} {
				got := nth(t, r, kind, 0).Container
				want.Start, want.End, want.Limit, want.Bound = got.Start, got.End, 1000, batch
				expect(t, kind, *got, want)
			}
		})
	}
}

// TestContainerSeen: a use at which the process gave memory back counts in the windows that were open then, and not in
// those that open at the boundary behind it.
func TestContainerSeen(t *testing.T) {
	s := newScript()
	seen := func(bytes event.Bytes, more func(b *event.Boundary)) func(*event.Boundary) {
		return func(b *event.Boundary) {
			in(100, 900)(b)
			b.Container.Seen = bytes
			more(b)
		}
	}
	done := func(b *event.Boundary) { b.Cell, b.Outcome = 1, event.OutcomeOK }
	line := func(b *event.Boundary) { b.Cell, b.Line = 1, 1 }
	s.boundary(event.CellOpen, main, seen(800, func(b *event.Boundary) { b.Cell, b.Inputs = 1, -1 }))
	s.boundary(event.StatementOpen, main, seen(700, line))
	s.boundary(event.StatementClose, main, seen(600, done))
	s.boundary(event.CellClose, main, seen(0, done))
	r := s.run(t)
	want := model.Container{AtLeast: 700, Highest: 900, Bound: batch, Limit: 1000, Start: 100, End: 100}
	expect(t, "the cell", *nth(t, r, model.Cell, 0).Container, want)
	want.AtLeast = 600
	expect(t, "the statement", *nth(t, r, model.Statement, 0).Container, want)
}

// TestContainerOfManyCells: cells that ended long ago keep their figures, with the parts of the memory at their ends.
func TestContainerOfManyCells(t *testing.T) {
	const cells = 300
	s := newScript()
	parts := func(cell uint64) event.ContainerParts {
		if cell%3 == 0 {
			return event.ContainerParts{}
		}
		return event.ContainerParts{Known: true, Anon: event.Bytes(cell), File: 2, Shmem: 3,
			Kernel: event.Bytes(4 * cell)}
	}
	high := func(cell uint64) event.Bytes { return event.Bytes(1000 + cell/2) } // rises in every second cell
	for cell := uint64(1); cell <= cells; cell++ {
		at := func(b *event.Boundary, usage, highest event.Bytes) {
			in(usage, highest)(b)
			b.Cell, b.Inputs, b.Container.Parts = cell, -1, parts(cell)
		}
		s.boundary(event.CellOpen, main, func(b *event.Boundary) { at(b, 500, high(cell-1)) })
		s.boundary(event.CellClose, main, func(b *event.Boundary) { at(b, event.Bytes(600+cell%2), high(cell)) })
	}
	r := s.run(t)
	seen := uint64(0)
	for _, w := range r.Windows {
		if w.Kind != model.Cell {
			continue
		}
		seen++
		want := model.Container{AtLeast: int64(600 + seen%2), Highest: int64(high(seen)), Bound: batch, Limit: 1000,
			Start: 500, End: int64(600 + seen%2)}
		if high(seen) > high(seen-1) {
			want.AtLeast, want.Exact = want.Highest, true
		}
		if p := parts(seen); p.Known {
			want.Parts = &model.ContainerParts{Anon: int64(p.Anon), File: 2, Shmem: 3, Kernel: int64(p.Kernel)}
		}
		expect(t, "a cell", w.Container, &want)
	}
	expect(t, "cells", seen, uint64(cells))
}

// TestContainerLeft: a process that moves to another container in a cell leaves the cell without a figure, and the
// report says so once. The next cell has the figures of the new container.
func TestContainerLeft(t *testing.T) {
	s := newScript()
	s.cellIn(1, [4][2]event.Bytes{{1, 10}, {2, 10}, {3, 10}, {4, 10}})
	other := func(b *event.Boundary) { b.Container = event.Container{Number: 8, Usage: 77, Highest: 78} }
	s.boundary(event.CellOpen, main, in(5, 10), func(b *event.Boundary) { b.Cell = 2 })
	s.boundary(event.CellClose, main, other, func(b *event.Boundary) { b.Cell, b.Outcome = 2, event.OutcomeOK })
	s.boundary(event.CellOpen, main, other, func(b *event.Boundary) { b.Cell = 3 })
	s.boundary(event.CellClose, main, other, func(b *event.Boundary) { b.Cell, b.Outcome = 3, event.OutcomeOK })
	s.boundary(event.CellOpen, main, in(5, 10), func(b *event.Boundary) { b.Cell = 4 })
	r := s.run(t)
	expect(t, "before", nth(t, r, model.Cell, 0).Container,
		&model.Container{AtLeast: 4, Highest: 10, Bound: batch, Limit: 1000, Start: 1, End: 4})
	expect(t, "with the move", nth(t, r, model.Cell, 1).Container, (*model.Container)(nil))
	expect(t, "behind it", nth(t, r, model.Cell, 2).Container,
		&model.Container{AtLeast: 77, Highest: 78, Bound: batch, Start: 77, End: 77})
	said := 0
	for _, p := range r.Certificate.Problems {
		if strings.Contains(p, "another memory cgroup") {
			said++
		}
	}
	expect(t, "the sentence", said, 1)
}

// TestWildContainer: sizes that no kernel has make no negative figures.
func TestWildContainer(t *testing.T) {
	s := newScript()
	s.cellIn(1, [4][2]event.Bytes{{-5, math.MinInt64}, {math.MaxInt64, -1}, {0, math.MaxInt64}, {-1, 3}})
	c := nth(t, s.run(t), model.Cell, 0).Container
	if c == nil || c.AtLeast < 0 || c.Highest < 0 || c.Start != 0 || c.End != 0 {
		t.Errorf("%+v", c)
	}
}

// TestContainerOfCutRecording: of a recording that was cut short, no figure is exact.
func TestContainerOfCutRecording(t *testing.T) {
	s := newScript()
	s.cellIn(1, [4][2]event.Bytes{{100, 400}, {110, 400}, {150, 600}, {140, 600}})
	tracker := New()
	for _, e := range append(s.events, &event.Finish{Reason: event.FinishCut}) {
		tracker.Add(e)
	}
	expect(t, "the cell", nth(t, tracker.Report(), model.Cell, 0).Container,
		&model.Container{AtLeast: 600, Bound: batch, Limit: 1000, Start: 100, End: 140})
}
