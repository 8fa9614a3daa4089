package attribution_test

import (
	"testing"

	"ipytracer/attribution"
	"ipytracer/event"
	"ipytracer/internal/attributiontest"
	"ipytracer/model"
)

// standing returns a session of three cells: the first allocates an array, the second only uses it and is the highest,
// the third uses it and is not.
func standing() *model.Report {
	tracker := attribution.New()
	s := attributiontest.New(tracker.Add, 1)
	file := func(cell uint64) string {
		return []string{"/tmp/ipykernel_1/1.py", "/tmp/ipykernel_1/2.py", "/tmp/ipykernel_1/3.py"}[cell-1]
	}
	cell := func(id uint64, do func()) {
		s.OpenCell(id, 0, file(id), "n = 1\nx = make(n)")
		do()
		s.Of(event.CellResult, id, 0, event.OutcomeOK)
		s.CloseCell(id, event.OutcomeOK)
	}
	cell(1, func() {
		s.Make(attributiontest.Kernel, event.NumPy, 400<<20,
			s.Stack(attributiontest.Kernel, event.Frame{Function: "<module>", File: file(1), Line: 2}))
		s.To(attributiontest.Kernel, event.Resident, 520<<20)
	})
	cell(2, func() {
		s.To(attributiontest.Kernel, event.Resident, 560<<20)
		s.To(attributiontest.Kernel, event.Resident, 520<<20)
	})
	cell(3, func() { s.To(attributiontest.Kernel, event.Resident, 530<<20) })
	for range 200 { // until they are in the archive
		s.Mark(event.ExperimentBegin, "e")
		s.Mark(event.ExperimentEnd, "e")
	}
	s.Free(attributiontest.Kernel, true)
	s.End()
	return tracker.Report()
}

// TestHighestCellsListWhatStood checks that a cell that is the highest so far lists the blocks of earlier cells, though
// none of them moved.
func TestHighestCellsListWhatStood(t *testing.T) {
	r := standing()
	var cells []model.Window
	for _, w := range r.Windows {
		if w.Kind == model.Cell {
			cells = append(cells, w)
		}
	}
	if len(cells) != 3 {
		t.Fatalf("%d cells", len(cells))
	}
	if len(cells[1].Allocations) != 1 || len(cells[2].Allocations) != 0 {
		t.Fatalf("the highest cell lists %+v, the one after it %+v", cells[1].Allocations, cells[2].Allocations)
	}
	a, c := cells[1].Allocations[0], cells[1].Coverage["cpu.numpy"]
	if a.AtPeak != 400<<20 || a.Allocated != 0 || a.Freed != 0 || a.Count != 0 || len(a.Stack) != 1 ||
		a.Stack[0].Execution != 1 || a.Stack[0].Line != 2 {
		t.Errorf("what stood: %+v", a)
	}
	if !c.Exact || c.AtPeak != 400<<20 || c.Rest != 0 {
		t.Errorf("coverage: %+v", c)
	}
}
