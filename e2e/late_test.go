package e2e

import (
	"slices"
	"strings"
	"testing"

	"ipytracer/model"
)

// TestCellThatRunsAtTheAttach: a cell that runs at the attach has a window with its text and its number, and so has the
// cell that it called. The ends of both are seen.
func TestCellThatRunsAtTheAttach(t *testing.T) {
	together(t)
	onPythons(t, "run_late.py", oldestAndNewest, func(t *testing.T, p place) {
		w, results, r := tracedWorkload(t, p, "--budget", "off")
		byName := map[string]result{}
		for _, one := range results {
			byName[one.Name] = one
		}
		cells := topCells(r, w.pid)
		if len(cells) != 3 {
			t.Fatalf("%d cells: %q", len(cells), sources(cells))
		}
		for i, name := range []string{"outer", "after", "last"} {
			want, got := byName[name], cells[i]
			if got.Source != want.Source || got.Status != want.Status || got.ExecutionCount == nil ||
				*got.ExecutionCount != *want.ExecutionCount {
				t.Errorf("%s: %q %s In[%v], want %+v", name, got.Source, got.Status, show(got.ExecutionCount), want)
			}
		}
		outer := cells[0]
		var inner model.Window
		var lines []int
		for _, w := range r.Windows {
			switch {
			case w.Kind == model.Cell && w.Parent == outer.ID:
				inner = w
			case w.Kind == model.Statement && w.Parent == outer.ID && w.Name == "":
				lines = append(lines, w.Line)
			}
		}
		if inner.Source != byName["inner"].Source || inner.Status != model.OK || inner.ExecutionCount != nil {
			t.Errorf("inner: %+v, want %q", inner, byName["inner"].Source)
		}
		for _, c := range []struct {
			cell model.Window
			need int64
		}{{inner, 64 << 20}, {outer, 64 << 20}, {cells[1], 16 << 20}} {
			if f := c.cell.Meters["cpu.numpy"]; !f.Exact || f.Need() < c.need || f.Need() > c.need+256 {
				t.Errorf("%q: numpy %+v, want a need of %d", c.cell.Source, f, c.need)
			}
		}
		if !strings.Contains(outer.Note, "already running") || !strings.Contains(inner.Note, "already running") ||
			cells[1].Note != "" {
			t.Errorf("notes: %q, %q, %q", outer.Note, inner.Note, cells[1].Note)
		}
		if want := []int{4, 5, 6}; !slices.Equal(lines, want) {
			t.Errorf("outer: statements on lines %v, want %v", lines, want)
		}
		checkCertificate(t, r)
	})
}
