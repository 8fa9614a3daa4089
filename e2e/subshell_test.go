package e2e

import (
	"bufio"
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"testing"

	"ipytracer/model"
)

// TestTwoCellsAtOnce: ipykernel 7 runs cells of a subshell beside those of the main shell. Each has its own window.
func TestTwoCellsAtOnce(t *testing.T) {
	together(t)
	root := filepath.Join(pythonsDir(), "sid")
	needTree(t, root)
	enter(t, root)
	cmd := exec.Command(python(), filepath.Join(workloads, "run_subshell.py"), "/usr/bin/python3", root)
	in, out := startPiped(t, cmd)
	lines := bufio.NewScanner(out)
	var ready struct {
		PID int `json:"pid"`
	}
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &ready) != nil {
		t.Fatalf("no kernel: %q", lines.Text())
	}
	tr := attach(t, ready.PID, "--budget", "off")
	if _, err := io.WriteString(in, "go\n"); err != nil {
		t.Fatal(err)
	}
	r, _ := tr.wait(0)
	cells := topCells(r, ready.PID)
	if len(cells) != 5 {
		t.Fatalf("%d cells: %q", len(cells), sources(cells))
	}
	for i, w := range cells {
		if w.Status != model.OK || w.ExecutionCount == nil || *w.ExecutionCount != i+1 {
			t.Errorf("cell %d: status %s, In[%v]", i+1, w.Status, show(w.ExecutionCount))
		}
	}
	for i, w := range cells { // signals, which mark the end of hooks, arrive only on the main thread
		if inSubshell := i >= 2; (w.Note != "") != inSubshell {
			t.Errorf("cell %d: note %q", i+1, w.Note)
		}
	}
	long, short, awaited := cells[1], cells[2], cells[3]
	if short.StartNS < long.StartNS || awaited.StartNS+awaited.DurationNS > long.StartNS+long.DurationNS {
		t.Errorf("the cells did not overlap: %+v %+v %+v", long, short, awaited)
	}
	for _, c := range []struct {
		cell model.Window
		need int64
	}{{long, 384 << 20}, {awaited, 64 << 20}} {
		if f := c.cell.Meters["cpu.numpy"]; f.Need() < c.need || f.Need() > c.need+1024 || !f.Exact {
			t.Errorf("%q: numpy %+v, want a need of %d", c.cell.Source, f, c.need)
		}
	}
	checkCertificate(t, r)
}
