package e2e

import (
	"testing"

	"ipytracer/model"
)

// TestInlineFigure: the memory of an inline figure counts for its cell, in the row behind the code, whichever statement
// requested it. The cell's need is compared with the kernel's own high-water mark, reset before the cell.
func TestInlineFigure(t *testing.T) {
	together(t)
	p := place{driver: "run_figures.py", extra: []string{"--high-water"}}
	w, results, r := tracedWorkload(t, p)
	cells := topCells(r, w.pid)
	if len(cells) != len(results) {
		t.Fatalf("%d cells, %d windows", len(results), len(cells))
	}
	drawn := 0
	for i, run := range results {
		f := cells[i].Meters["cpu.resident"]
		// VmHWM lags behind by the part of the counters that each CPU holds back. That of the first cell begins before
		// its window.
		if off := f.Peak - run.After.HighWater; i > 0 && (off < -1<<20 || off > 1<<20) {
			t.Errorf("%s: resident peaks at %d, VmHWM at %d (%+d)", run.Name, f.Peak, run.After.HighWater, off)
		}
		if cells[i].Status != model.OK || cells[i].Source != run.Source || !f.Exact {
			t.Errorf("%s: %s, %+v", run.Name, cells[i].Status, f)
		}
		if run.Draws == 0 {
			continue
		}
		drawn++
		for _, row := range r.Windows {
			if row.Parent != cells[i].ID || row.Kind != model.Statement {
				continue
			}
			need := row.Meters["cpu.resident"].Need()
			if row.Name == model.Hooks && need < run.Draws {
				t.Errorf("%s: its hooks need %d, drawing takes %d", run.Name, need, run.Draws)
			} else if row.Name == "" && need > run.Draws/2 {
				t.Errorf("%s: line %d needs %d", run.Name, row.Line, need)
			}
		}
	}
	if drawn < 3 {
		t.Errorf("%d cells draw", drawn)
	}
	checkCertificate(t, r)
}
