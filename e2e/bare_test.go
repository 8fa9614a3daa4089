package e2e

import (
	"strings"
	"testing"

	"ipytracer/model"
)

// TestBareShell runs a script that calls run_cell itself. Every cell has a window, also after one that awaited. Python
// may not show where such a cell ends: then its window says that its end was not seen, and the certificate is not
// complete.
func TestBareShell(t *testing.T) {
	require(t)
	onPythons(t, "run_bare.py", oldestAndNewest, checkBare)
}

func checkBare(t *testing.T, p place) {
	t.Helper()
	w, results, r := tracedWorkload(t, p, "--budget", "off")
	cells := topCells(r, w.pid)
	if len(cells) != len(results) {
		t.Fatalf("%d cells ran, %d windows: %q", len(results), len(cells), sources(cells))
	}
	unseen := 0
	for i, c := range cells {
		want := results[i]
		if c.Source != want.Source || c.ExecutionCount == nil || *c.ExecutionCount != *want.ExecutionCount {
			t.Errorf("%s: %q In[%v], want %+v", want.Name, c.Source, show(c.ExecutionCount), want)
		}
		if strings.Contains(c.Source, "await ") && c.Status == model.Incomplete &&
			strings.Contains(c.Note, "its end was not seen") {
			unseen++
			continue
		}
		if c.Status != want.Status || c.Note != "" && !strings.Contains(c.Note, "hooks") {
			t.Errorf("%s: status %s %q, run_cell said %s", want.Name, c.Status, c.Note, want.Status)
		}
	}
	if r.Certificate.Complete == (unseen > 0) {
		t.Errorf("%d cells were not seen to end, and complete is %v", unseen, r.Certificate.Complete)
	}
	t.Logf("%d of %d not seen to end", unseen, len(cells))
}
