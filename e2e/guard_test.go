package e2e

import (
	"fmt"
	"strings"
	"testing"

	"ipytracer/internal/gpu/gputest"
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

// TestGuardGPU runs a cell that takes 768 MiB of a GPU of which NVML says that 512 MiB are free: it is not run again.
// Without the guard's error it would be.
func TestGuardGPU(t *testing.T) {
	const machine = "driver 580.159.04\ncuda 13000\ngpu GPU-a 0:0f:0 0 8589934592 8053063680 536870912 0 -1 Stand-in\n"
	env, _ := companionAt(t, "/")
	n := startNotebook(t, joined(env, standIn(t, 1)))
	tr := attachIn(t, gputest.Environ(t, gputest.Library(t), machine), n.pid)
	n.runs("%load_ext ipytracer\n" + useGPU)
	const cell = "b = gpu.cu.alloc(768 << 20); gpu.cu.free(b); n = globals().get('n', 0) + 1"
	n.shows(cell, "driver 768.")
	n.asksUntil("%tracer guard error", "a cell that needs more than is free does not run")
	const want = "the cell needed 768.00 MiB on GPU 0 the last time, 512.00 MiB are free (after the last cell)"
	refused := ""
	until(t, "NVML has answered", func() bool { refused = n.runs(cell); return strings.Contains(refused, "NotEnough") })
	if !strings.Contains(refused, want) {
		t.Errorf("%q, want %q", refused, want)
	}
	if got := n.runs("print('ran', n)"); !strings.Contains(got, "ran ") {
		t.Error(got)
	}
	n.asksUntil("%tracer guard off", "the guard is off")
	if got := n.runs(cell); strings.Contains(got, "NotEnough") {
		t.Error(got)
	}
	tr.stop()
}
