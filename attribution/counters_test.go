package attribution

import (
	"testing"

	"ipytracer/event"
	"ipytracer/model"
)

// TestCountersAddUp: the counts of statements and between them add up to the cell's, also for cells that ended long
// ago. The processor's counts are known of cells only; a count that was not made is not there.
func TestCountersAddUp(t *testing.T) {
	const cells, statements = 300, 3
	s := newScript()
	var now event.Counters
	step := func(edit func(b *event.Boundary)) func(b *event.Boundary) {
		return func(b *event.Boundary) {
			for c := range now {
				now[c] += uint64(len(s.events)*(c+3)%17) + 1
			}
			b.Counters, b.CPUTime = now, 1+event.Nanoseconds(now[0])
			if b.Kind == event.StatementOpen || b.Kind == event.StatementClose {
				clear(b.Counters[event.KernelCounters:])
			}
			edit(b)
		}
	}
	want := map[uint64][2]event.Counters{} // of cells
	var own [cells + 1]int64               // minor faults of a cell's statements
	for cell := uint64(1); cell <= cells; cell++ {
		s.boundary(event.CellOpen, main, step(func(b *event.Boundary) { b.Cell, b.Inputs = cell, -1 }))
		opened := now
		for line := range int32(statements) {
			s.boundary(event.StatementOpen, main, step(func(b *event.Boundary) { b.Cell, b.Line = cell, line+1 }))
			before := now[event.MinorFaults]
			s.boundary(event.StatementClose, main,
				step(func(b *event.Boundary) { b.Cell, b.Outcome = cell, event.OutcomeOK }))
			own[cell] += int64(now[event.MinorFaults] - before)
		}
		s.boundary(event.CellClose, main, step(func(b *event.Boundary) { b.Cell, b.Outcome = cell, event.OutcomeOK }))
		want[cell] = [2]event.Counters{opened, now}
	}
	s.boundary(event.Detached, main)
	r := s.run(t)
	if !r.Counts() {
		t.Error("the report counts nothing")
	}
	expect(t, "cells", checkCounters(t, r, want, own[:]), uint64(cells))
}

// checkCounters compares a report with the counts of cells and of their statements. It returns the number of cells.
func checkCounters(t *testing.T, r *model.Report, want map[uint64][2]event.Counters, own []int64) (seen uint64) {
	sums := map[int]int64{}
	for _, w := range r.Windows {
		switch w.Kind {
		case model.Session: // its first boundary counted nothing
			expect(t, "the session", w.Counters, (*model.Counters)(nil))
		case model.Statement:
			sums[w.Parent] += w.Counters.MinorFaults
			expect(t, "the processor's of a statement", [2]int64{w.Counters.Instructions, w.Counters.CacheMisses},
				[2]int64{-1, -1})
		}
	}
	for _, w := range r.Windows {
		if w.Kind != model.Cell {
			continue
		}
		seen++
		ends := want[seen]
		for c, one := range w.Counters.All() {
			expect(t, one.Name, one.Count, int64(ends[1][c]-ends[0][c]))
		}
		expect(t, "CPU time", w.CPUNS, w.Counters.MinorFaults)
		expect(t, "statements", sums[w.ID], own[seen])
	}
	return seen
}

// TestCountersOfTwoThreads: two boundaries at the same time, of which the later one was read first, make no negative
// count.
func TestCountersOfTwoThreads(t *testing.T) {
	earlier, later := event.Counters{11, 0, 1}, event.Counters{10, 5, 1}
	for c, want := range map[event.Counter]int64{event.MinorFaults: 0, event.MajorFaults: -1, event.Waits: 0,
		event.Cycles: -1} {
		expect(t, c.String(), later.Since(&earlier, c), want)
	}
}
