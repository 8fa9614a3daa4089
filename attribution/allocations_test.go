package attribution

import (
	"maps"
	"math/rand/v2"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/attributiontest"
	"ipytracer/model"
)

// TestAllocationsOfRandomHistories compares a window's allocations with the whole history, for random ones, with
// changes that come late, and with some that were made while a boundary was being drawn.
func TestAllocationsOfRandomHistories(t *testing.T) {
	t.Parallel()
	for seed := range attributiontest.Seeds(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := newBlocks()
		if seed%3 == 2 { // threads of the GPU's own allocate and free its memory
			s.meter = event.OfDevice(1, []event.DeviceMeter{event.Driver, event.Active}[seed/3%2])
		}
		if seed%3 == 1 { // changes of another CPU come behind the boundary
			s.delay = func() bool { return r.IntN(4) == 0 }
		}
		if seed%2 == 1 {
			s.between = func() bool { return r.IntN(4) == 0 }
			s.swap = func() bool { return r.IntN(8) == 0 }
		}
		for i := range uint64(5) {
			s.stack(i+1, event.Frame{Function: "f", File: "lib.py", Line: int32(i + 1)})
		}
		for cell := uint64(1); cell <= 4; cell++ {
			s.some(r)
			s.cut(event.CellOpen, cell)
			s.some(r)
			s.cut(event.CellClose, cell)
		}
		report := s.run(t)
		checkLines(t, report)
		for cell := range uint64(4) {
			s.check(t, nth(t, report, "cell", int(cell)), cell+1)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// checkLines checks that the lines of a session add up to its allocations.
func checkLines(t *testing.T, r *model.Report) {
	t.Helper()
	lines, own := map[model.Frame][4]int64{}, int64(0)
	for _, l := range r.Lines {
		lines[l.Frame] = [4]int64{l.Allocated, l.Freed, l.AtPeak, l.Count}
		own += l.OwnAllocated
	}
	want, all := map[model.Frame][4]int64{}, int64(0)
	for _, a := range nth(t, r, model.Session, 0).Allocations {
		for _, f := range a.Stack {
			sum := want[f]
			want[f] = [4]int64{sum[0] + a.Allocated, sum[1] + a.Freed, sum[2] + a.AtPeak, sum[3] + a.Count}
		}
		if len(a.Stack) > 0 {
			all += a.Allocated
		}
	}
	if !maps.Equal(lines, want) || own != all {
		t.Errorf("lines %v (own %d), want %v (%d)", lines, own, want, all)
	}
}

func (s *blockModel) some(r *rand.Rand) {
	for range r.IntN(30) {
		if len(s.address) > 0 && r.IntN(2) == 0 {
			s.give(s.address[r.IntN(len(s.address))])
		} else {
			s.take(1+r.Uint64N(5), event.Bytes(1+r.IntN(1000)))
		}
	}
}

// check compares a cell with the history.
func (s *blockModel) check(t *testing.T, w model.Window, cell uint64) {
	t.Helper()
	type sums struct{ allocated, freed, count, atPeak int64 }
	want, at := map[int]*sums{}, map[uint64]event.Bytes{}
	held, total, highest := map[uint64]event.Bytes{}, event.Bytes(0), event.Bytes(0)
	snapshot := func() {
		clear(at)
		maps.Copy(at, held)
		highest = total
	}
	of := func(stack uint64) *sums {
		if want[int(stack)] == nil {
			want[int(stack)] = &sums{}
		}
		return want[int(stack)]
	}
	for i, m := range s.history[:s.ends[cell]] {
		if i == s.starts[cell] {
			snapshot()
		}
		held[m.stack] += m.size
		total += m.size
		if i < s.starts[cell] {
			continue
		}
		if m.size > 0 {
			of(m.stack).allocated += int64(m.size)
			of(m.stack).count++
		} else {
			of(m.stack).freed -= int64(m.size)
		}
		if total > highest {
			snapshot()
		}
	}
	if s.starts[cell] == s.ends[cell] { // no change: it lists nothing, or the blocks then held as the highest so far
		if len(w.Allocations) == 0 {
			return
		}
		snapshot()
	}
	for stack, size := range at {
		if size > 0 {
			of(stack).atPeak = int64(size)
		}
	}
	got := map[int]*sums{}
	for _, a := range w.Allocations {
		got[a.Stack[0].Line] = &sums{a.Allocated, a.Freed, a.Count, a.AtPeak}
	}
	for stack, x := range want {
		if y := got[stack]; *x != (sums{}) && (y == nil || *y != *x) {
			t.Errorf("cell %d: stack %d: %+v, want %+v", cell, stack, y, *x)
		}
	}
	if id := s.meter.String(); !w.Coverage[id].Exact || w.Coverage[id].Rest != 0 ||
		w.Coverage[id].AtPeak != w.Meters[id].Peak {
		t.Errorf("cell %d: coverage %+v of %+v", cell, w.Coverage[id], w.Meters[id])
	}
}

// TestAllocationsThatAreLost: a change or a stack that did not arrive makes the coverage inexact or leaves a rest,
// never a wrong line.
func TestAllocationsThatAreLost(t *testing.T) {
	s := newBlocks()
	s.stack(1, event.Frame{Function: "f", File: "lib.py", Line: 1})
	s.cut(event.CellOpen, 1)
	s.take(1, 1000)
	s.take(2, 500) // its stack is not known
	lost := s.stream + 1
	s.lose = func(stream uint64) bool { return stream == lost }
	s.take(1, 300)
	s.cut(event.CellClose, 1)
	w := nth(t, s.run(t), "cell", 0)
	if len(w.Allocations) != 2 || w.Allocations[0].AtPeak != 1000 || len(w.Allocations[1].Stack) != 0 ||
		w.Allocations[1].AtPeak != 500 {
		t.Errorf("allocations %+v, want the one that is known and the one that nobody is known for", w.Allocations)
	}
	if c := w.Coverage["cpu.numpy"]; c.Exact || c.Rest != 300 || c.AtPeak != 1500 {
		t.Errorf("coverage %+v, want 300 bytes that are not covered", c)
	}
}

// TestFramesOfCells: a frame in a cell's code names the cell, the innermost one of that name at the time; frames
// outside the cell are left out.
func TestFramesOfCells(t *testing.T) {
	s := newBlocks()
	s.stack(1, event.Frame{Function: "ones", File: "/usr/lib/python3/dist-packages/numpy/x.py", Line: 9},
		event.Frame{Function: "make", File: "cell-1.py", Line: 2},
		event.Frame{Function: "<module>", File: "cell-2.py", Line: 1}, event.Frame{Function: "run_code",
			File: "interactiveshell.py", Line: 3000})
	s.cut(event.CellOpen, 1)
	s.cut(event.CellClose, 1)
	for range 2 { // the second cell runs twice
		s.cut(event.CellOpen, 2)
		s.take(1, 100)
		s.cut(event.CellClose, 2)
	}
	r := s.run(t)
	for execution := 2; execution <= 3; execution++ {
		a := nth(t, r, "cell", execution-1).Allocations
		if len(a) != 1 || len(a[0].Stack) != 3 {
			t.Fatalf("allocations %+v", a)
		}
		if f := a[0].Stack; f[0].Execution != 0 || f[1].Execution != 1 || f[2].Execution != execution {
			t.Errorf("run %d: frames %+v", execution, f)
		}
	}
}

// TestResizedBlock: NumPy resizes in place with a second change at the same address.
func TestResizedBlock(t *testing.T) {
	s := newBlocks()
	s.stack(1, event.Frame{Function: "f", File: "lib.py", Line: 1})
	s.stack(2, event.Frame{Function: "g", File: "lib.py", Line: 2})
	s.cut(event.CellOpen, 1)
	a := s.take(1, 1000)
	s.change(a, 2, 500)
	s.cut(event.CellClose, 1)
	w := nth(t, s.run(t), "cell", 0)
	var net int64
	for _, a := range w.Allocations {
		net += a.Net
	}
	if net != 1500 || w.Allocations[0].Stack[0].Function != "g" || w.Allocations[0].AtPeak != 1500 ||
		!w.Coverage["cpu.numpy"].Exact {
		t.Errorf("allocations %+v, coverage %+v", w.Allocations, w.Coverage)
	}
}

// TestChangesWhileABoundaryIsDrawn: a change that was made while a boundary was being drawn counts on the side on which
// the ledger has it, and in each window that holds both sides.
func TestChangesWhileABoundaryIsDrawn(t *testing.T) {
	for _, first := range []bool{true, false} {
		s := newBlocks()
		s.openCell(1, true)
		s.to(main, 100)
		s.stream++
		s.events = append(s.events, &event.Change{Stream: s.stream, Segment: s.number + 1, PID: main,
			Meter: event.Resident, Value: 150, Passed: 1})
		s.script.value[main] = 60
		if first {
			s.script.high[main] = 150
		}
		s.closeCell(1, event.OutcomeOK)
		if !first {
			s.script.high[main] = 150
		}
		s.boundary(event.Detached, main)
		r := s.run(t)
		for _, p := range r.Certificate.Meters {
			if p.ID == "cpu.resident" && (p.Agreed != p.Compared || p.Compared < 3) {
				t.Errorf("first %v: %+v", first, p)
			}
		}
		if peak := nth(t, r, "cell", 0).Meters["cpu.resident"].Peak; (peak == 150) != first {
			t.Errorf("first %v: the cell peaks at %d", first, peak)
		}
	}
}
