package e2e

import (
	"fmt"
	"strings"
	"testing"

	"ipytracer/model"
)

// TestAuditInline: figures of matplotlib's inline backend are closed after the last line of their cell, so a collection
// in that line is too early. They were in use at the last collection of all objects, and a library in C++ refers to
// them from its own memory. All their memory waits for the collector, none is attributed to C code, and it is freed as
// the audit says.
func TestAuditInline(t *testing.T) {
	together(t)
	needModules(t, "matplotlib")
	n := startCounted(t)
	n.cell("%matplotlib inline\nimport gc, numpy as np\nimport matplotlib.pyplot as plt")
	tr, second := traced(t, nil, n.pid, "audit", "--budget", "off", "--min", "64KiB"),
		attach(t, n.pid, "--budget", "off")
	n.cell("def draw(size):\n    fig, ax = plt.subplots()\n    ax.imshow(np.random.rand(size, size))")
	n.cell("X, Y = np.meshgrid(np.linspace(0, 5, 500), np.linspace(0, 5, 500))")
	n.cell("draw(1200)\nfig, ax = plt.subplots()\ncontours = ax.contourf(X, Y, np.sin(X) * Y, 20)\n" +
		"freed = gc.collect()")
	n.cell("del fig, ax, contours")
	a := tr.audit(0)
	if len(a.Verdicts) != 1 || a.Verdicts[0].Kind != model.Waits || a.Verdicts[0].Bytes < 1200*1200*8 {
		t.Fatalf("verdicts %+v", a.Verdicts)
	}
	v := a.Verdicts[0]
	if v.Fix != "import gc\ngc.collect()" || !strings.Contains(v.Advice, "in a cell of its own") {
		t.Errorf("%q, %q", v.Fix, v.Advice)
	}
	for _, h := range a.Held {
		if h.By == "none" && h.Bytes >= 64<<10 {
			t.Errorf("C code is said to have %+v", h)
		}
	}
	at := n.cell(v.Fix)
	r, _ := second.stop()
	if got := -consumed(t, r, at, v.Meter); got < v.Bytes-v.Bytes/20 || got > v.Bytes+v.Bytes/20 {
		t.Errorf("%q gave %d bytes back, want %d", v.Fix, got, v.Bytes)
	}
}

// TestAuditEval calls pandas' eval and query, which keep all names of the notebook while they run. The cell that failed
// holds the objects in the traceback of their exception; the cells that made these objects do not.
func TestAuditEval(t *testing.T) {
	together(t)
	needModules(t, "pandas")
	n := startCounted(t)
	n.cell("import numpy as np, pandas as pd")
	tr, second := traced(t, nil, n.pid, "audit", "--budget", "off"), attach(t, n.pid, "--budget", "off")
	n.cell("df = pd.DataFrame({k: np.ones(1 << 20) for k in 'abc'})")
	n.cell("big = np.ones(2 << 20)")
	n.cell("fine = df.query('a < 2').shape, df.eval('a + b * c').sum(), pd.eval('df.a + df.b').sum()")
	if s := n.asks("df.query('a < nothere')"); s.Status != "error" {
		t.Fatalf("the query ended with %s", s.Status)
	}
	n.count++
	failed := n.count
	n.cell("del df, big")
	a := tr.audit(0)
	if len(a.Verdicts) != 1 || a.Verdicts[0].Kind != model.HeldByTraceback || a.Verdicts[0].Bytes < 40<<20 {
		t.Fatalf("verdicts %+v", a.Verdicts)
	}
	v := a.Verdicts[0]
	names := strings.HasPrefix(v.Evidence, fmt.Sprintf("In[%d] failed; ", failed))
	if !names || v.Change == nil || v.Change.ExecutionCount != failed {
		t.Errorf("%q, change %+v, want In[%d]", v.Evidence, v.Change, failed)
	}
	at := n.cell(v.Fix)
	r, _ := second.stop()
	if got := -consumed(t, r, at, v.Meter); got < v.Bytes-v.Bytes/20 {
		t.Errorf("%q gave %d bytes back, want %d", v.Fix, got, v.Bytes)
	}
}
