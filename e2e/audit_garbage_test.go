package e2e

import (
	"fmt"
	"strings"
	"testing"

	"ipytracer/model"
)

// TestAuditGarbage: memory that waits for the garbage collector is no leak, and comes back as the audit says. The audit
// separates it from memory beside it that has a holder. A closed figure is garbage, and is not attributed to C code. An
// output in a cycle needs the collector, another output does not. A variable _ that the user made is the user's.
func TestAuditGarbage(t *testing.T) {
	together(t)
	needModules(t, "matplotlib")
	n := startCounted(t)
	n.cell("import ctypes, gc, numpy as np, matplotlib\nmatplotlib.use('Agg')\nimport matplotlib.pyplot as plt")
	tr, second := traced(t, nil, n.pid, "audit", "--budget", "off"), attach(t, n.pid, "--budget", "off")
	n.cell("class Box:\n    def __init__(self, n):\n        self.me, self.data = self, np.ones(n)")
	n.cell("fig, ax = plt.subplots()\nim = ax.imshow(np.random.rand(2000, 2400))\nfig.canvas.draw()\n" +
		"box = Box(2 << 20)\nfreed = gc.collect()")
	n.cell("plt.close(fig)\ndel fig, ax, im, box") // older than the last full collection
	plain := n.cell("np.ones(3 << 20)")
	cyclic := n.cell("Box(4 << 20)")
	n.cell("stolen = np.ones(5 << 20)\nctypes.pythonapi.Py_IncRef(ctypes.py_object(stolen))\ndel stolen")
	n.cell("_ = np.ones(6 << 20)")
	a := tr.audit(0)
	const waits, none = "waits", "none"
	want := map[string]string{
		waits: "import gc\ngc.collect()", fmt.Sprintf("Out[%d]", plain): fmt.Sprintf("%%xdel _%d", plain),
		fmt.Sprintf("Out[%d].data", cyclic): fmt.Sprintf("%%xdel _%d\nimport gc\ngc.collect()", cyclic), none: "",
	}
	found := map[string]model.Verdict{}
	for _, v := range a.Verdicts {
		name := v.Holder
		switch {
		case v.Kind == model.Waits && !v.IsLeak():
			name = waits
		case v.Kind == model.HeldAfterWindow && strings.HasPrefix(v.Evidence, "no Python object"):
			name = none
		}
		fix, ok := want[name]
		if !ok || v.Fix != fix || v.Probable {
			t.Errorf("%s: %+v", name, v)
		}
		found[name] = v
	}
	typed := map[string]int{}
	// one after another
	for _, name := range []string{waits, fmt.Sprintf("Out[%d]", plain), fmt.Sprintf("Out[%d].data", cyclic)} {
		if _, ok := found[name]; !ok {
			t.Fatalf("no verdict on %s: %+v", name, a.Verdicts)
		}
		typed[name] = n.cell(found[name].Fix)
	}
	if _, ok := found[none]; !ok || found[none].Bytes != 40<<20 {
		t.Errorf("what C code has: %+v", found[none])
	}
	if a.ByMeter()["cpu.numpy"] != (3+4+5)*8<<20 {
		t.Errorf("leaks of %d bytes", a.ByMeter()["cpu.numpy"])
	}
	r, _ := second.stop()
	for name, at := range typed {
		if got := -consumed(t, r, at, "cpu.numpy"); got != found[name].Bytes || got < 16<<20 {
			t.Errorf("%s: %q gave %d bytes back, want %d", name, found[name].Fix, got, found[name].Bytes)
		}
	}
}
