package attribution

import (
	"testing"

	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/model"
)

func TestPausedMeterIsNotExact(t *testing.T) {
	s := newScript()
	s.openCell(1, true)
	s.boundary(event.MeterShed, main)
	s.closeCell(1, event.OutcomeOK)
	s.boundary(event.MeterBack, main)
	s.openCell(2, true)
	s.closeCell(2, event.OutcomeOK)
	s.boundary(event.Detached, main)
	r := s.run(t)
	first, second := nth(t, r, model.Cell, 0).Meters["cpu.numpy"], nth(t, r, model.Cell, 1).Meters["cpu.numpy"]
	if first.Exact || first.Bound != nil {
		t.Errorf("shed: %+v", first)
	}
	if !second.Exact {
		t.Errorf("after it was put back: %+v", second)
	}
	if f := nth(t, r, model.Cell, 0).Meters["cpu.resident"]; !f.Exact {
		t.Errorf("resident is never shed: %+v", f)
	}
}

// TestPauseForTwoReasons: a meter that is put back for one reason may still be paused for another.
func TestPauseForTwoReasons(t *testing.T) {
	foreign := func(b *event.Boundary) { b.Group = event.ForeignArrays }
	s := newScript()
	s.boundary(event.MeterShed, main)
	s.boundary(event.MeterShed, main, foreign)
	s.boundary(event.MeterBack, main, foreign)
	s.openCell(1, true)
	s.closeCell(1, event.OutcomeOK)
	s.boundary(event.MeterBack, main)
	s.openCell(2, true)
	s.closeCell(2, event.OutcomeOK)
	s.boundary(event.Detached, main)
	r := s.run(t)
	for i, exact := range []bool{false, true} {
		if f := nth(t, r, model.Cell, i).Meters["cpu.numpy"]; f.Exact != exact {
			t.Errorf("cell %d: %+v, want exact: %t", i+1, f, exact)
		}
	}
}

// TestPauseOfNumPy: while the meter is paused a window has only a lower bound; then it is off by at most the bytes in
// doubt, and by less after a search. Windows before the pause are exact.
func TestPauseOfNumPy(t *testing.T) {
	s := newScript()
	unsure := func(by event.Bytes) func(*event.Boundary) {
		return func(b *event.Boundary) { b.Unsure[event.UnknownNumPy] = by }
	}
	closed := func(cell uint64, by event.Bytes) {
		s.boundary(event.CellClose, main, func(b *event.Boundary) {
			b.Cell, b.Outcome,
				b.Unsure[event.UnknownNumPy] = cell, event.OutcomeOK, by
		})
	}
	s.openCell(1, true)
	closed(1, 0)
	s.openCell(2, true)
	s.boundary(event.MeterShed, main)
	closed(2, 0)
	s.boundary(event.MeterBack, main, unsure(9000))
	s.boundary(event.CellOpen, main, func(b *event.Boundary) {
		b.Cell, b.Inputs, b.Unsure[event.UnknownNumPy] = 3, 4,
			9000
	})
	s.boundary(event.MeterSettled, main, unsure(70))
	closed(3, 70)
	s.boundary(event.CellOpen, main, func(b *event.Boundary) {
		b.Cell, b.Inputs, b.Unsure[event.UnknownNumPy] = 4, 5,
			70
	})
	closed(4, 70)
	s.boundary(event.Detached, main, unsure(70))
	r := s.run(t)
	bound := func(n int64) *int64 { return &n }
	for i, want := range []*int64{bound(0), nil, bound(9000), bound(70)} {
		f := nth(t, r, model.Cell, i).Meters["cpu.numpy"]
		if f.Exact != (i == 0) || (f.Bound == nil) != (want == nil) || want != nil && *f.Bound != *want {
			t.Errorf("cell %d: %+v", i+1, f)
		}
	}
}

// TestPauseInOneTree: a meter that is paused in one tree is not in another.
func TestPauseInOneTree(t *testing.T) {
	tr := New()
	tr.Processes.Tree(0).SetPaused(0, event.ArrayProbes, true, event.NumPy)
	a := tr.activity.Windows.Open(tr.Processes.Process(1, 0), &event.Boundary{Root: 0, PID: 1}, windows.KindCell, nil)
	b := tr.activity.Windows.Open(tr.Processes.Process(2, 1), &event.Boundary{Root: 1, PID: 2}, windows.KindCell, nil)
	if shed, other := tr.Table.Whole(a).Paused, tr.Table.Whole(b).Paused; len(shed) != 1 || len(other) != 0 {
		t.Errorf("shed: %v and %v", shed, other)
	}
}

func TestUnknownFreesBoundNumPy(t *testing.T) {
	s := newScript()
	s.openCell(1, true)
	s.boundary(event.CellClose, main, func(b *event.Boundary) {
		b.Cell, b.Unknown[event.UnknownNumPy], b.Slack[event.UnknownNumPy] = 1, 1, 4096
	})
	s.boundary(event.Detached, main, func(b *event.Boundary) {
		b.Unknown[event.UnknownNumPy],
			b.Slack[event.UnknownNumPy] = 1, 4096
	})
	r := s.run(t)
	f := nth(t, r, model.Cell, 0).Meters["cpu.numpy"]
	if f.Exact || f.Bound == nil || *f.Bound != 4096 {
		t.Errorf("figure: %+v", f)
	}
	expect(t, "unknown frees", r.Certificate.UnknownFrees, uint64(1))
}
