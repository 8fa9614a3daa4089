package e2e

import (
	"fmt"
	"strings"
	"testing"

	"ipytracer/model"
)

// TestGuard runs a cell that needs 256 MiB, sets a limit that leaves half of that, and runs the cell again: the guard
// stops it, and its window needs next to nothing. Another body of the function that the cell calls is another cell.
func TestGuard(t *testing.T) {
	needModules(t, "numpy")
	env, _ := companionAt(t, "/")
	n := startNotebook(t, env)
	tr := attach(t, n.pid)
	n.runs("%load_ext ipytracer\nimport numpy as np, ipytracer._limit")
	n.runs("def big(n):\n    return np.ones(n)")
	const cell = "x = big(32 << 20)"
	n.shows(cell, "need 256.")
	n.runs("del x")
	n.asksUntil("%tracer guard error", "a cell that needs more than is free does not run")
	n.runs("get_ipython().run_line_magic('tracer', 'limit %d' % (ipytracer._limit.mapped() + (128 << 20)))")

	refused := n.runs(cell)
	for _, want := range []string{"NotEnoughMemory: in this state the cell needed 256.",
		" of mapped memory the last time, ", " are free (rlimit); it has not run. "} {
		if !strings.Contains(refused, want) {
			t.Errorf("%q shows %q, want %q", cell, refused, want)
		}
	}
	if got := n.runs("print('x' in globals())"); !strings.Contains(got, "False") {
		t.Errorf("a cell that was not run has bound a name: %s", got)
	}
	n.runs("def big(n):\n    return np.ones(n >> 6)")
	if got := n.runs(cell + "; print(x.nbytes)"); !strings.Contains(got, fmt.Sprint(4<<20)) {
		t.Errorf("with another function the cell shows %s", got)
	}
	r, _ := tr.stop()
	cells := topCells(r, n.pid)
	at := -1
	for i, w := range cells {
		if w.Source == cell && w.Status != model.OK {
			at = i
		}
	}
	if at < 0 || at+1 >= len(cells) {
		t.Fatalf("no window of a cell that was not run: %v", cells)
	}
	if f := cells[at].Meters["cpu.resident"]; f.Peak-f.Start > 8<<20 {
		t.Errorf("the cell that was not run needed %d bytes", f.Peak-f.Start)
	}
	before, after := cells[at].Meters["cpu.mapped"].Start, cells[at+1].Meters["cpu.mapped"].Start
	if after-before > 8<<20 {
		t.Errorf("%d bytes were mapped by a cell that was not run", after-before)
	}
}
