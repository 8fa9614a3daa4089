package e2e

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"ipytracer/model"
)

// counted is a notebook that numbers its cells, as IPython does.
type counted struct {
	*notebook
	count int
}

// startCounted starts a notebook that counts its cells. Its driver, run_notebook.py, has already run one.
func startCounted(t *testing.T, env ...string) *counted { return &counted{startNotebook(t, env), 1} }

// cell runs a cell and returns its In[N].
func (c *counted) cell(code string) int {
	c.t.Helper()
	if s := c.asks(code); s.Status != "ok" {
		c.t.Fatalf("%q ended with %s: %q", code, s.Status, s.Outputs)
	}
	c.count++
	return c.count
}

// consumed returns the rise of a meter in In[N].
func consumed(t *testing.T, r *model.Report, count int, meter string) int64 {
	t.Helper()
	i := slices.IndexFunc(r.Windows, func(w model.Window) bool {
		return w.Kind == model.Cell && w.ExecutionCount != nil && *w.ExecutionCount == count
	})
	if i < 0 {
		t.Fatalf("no window of In[%d]", count)
	}
	return r.Windows[i].Meters[meter].Consumed
}

// viewCells make views of memory that nothing else holds; the last two make views without a verdict.
var viewCells = []string{
	"base = np.ones(60 << 20); small = base[:10]; del base",
	// This cell makes several views. One of them has two names.
	"base = np.ones(5 << 20); first = base[1:4]; other = again = base[::4000]; del base",
	"kept = {'head': [np.ones(6 << 20)[:7]]}",
	"base = np.ones((3000, 1000)); corner = base[:20, :20].T; del base",
	"df = pd.DataFrame({k: np.ones(4 << 20) for k in 'abcdef'}); top = df[['a', 'b']].head(10); del df",
	"df = pd.DataFrame({k: np.ones(3 << 20) for k in 'abcdef'}); column = df['c']; del df",
	"df = pd.DataFrame({'k': np.arange(4 << 20) % 7, 'v': np.ones(4 << 20)}); rows = df[df.k == 3].head(5); del df",
	"t = torch.ones(30 << 20); part = t[:10]; del t",
	"t = torch.ones(7 << 20, requires_grad=True); loose = t[:10]; del t",
	"b = bytearray(100 << 20); window = memoryview(b)[:10]; del b",
	"b = array.array('d', [1]) * (6 << 20); numbers = np.frombuffer(b)[:10]; del b",
	// No verdicts: the memory has a name, most of it is used, a copy would be large, a library has it.
	"named = np.ones(8 << 20); view = named[:5]; most = np.ones(9 << 20)[:6 << 20]; " +
		"wide = np.broadcast_to(np.ones(3 << 20)[:1], (1 << 22,))",
	"json.view = np.ones(4 << 20)[:3]; total = np.ones(7 << 20)[:3].sum()",
}

const mib = 1 << 20

// wantedView is the verdict that an audit must have on views: the bytes that they use, those of their memory, and the
// meter.
type wantedView struct {
	used, base int64
	meter      string
}

var viewsWanted = map[string]wantedView{
	"small": {80, 480 * mib, "cpu.numpy"}, "again, first, other": {24 + 8*1311, 40 * mib, "cpu.numpy"},
	"kept['head'][0]": {56, 48 * mib, "cpu.numpy"},
	"corner":          {3200, 24_000_000, "cpu.numpy"}, "top": {160, 64 * mib, "cpu.numpy"},
	"column": {24 * mib, 144 * mib, "cpu.numpy"}, "rows": {120, 3 * 8 * 599186, "cpu.numpy"},
	"part": {40, 120 * mib, "cpu.torch"}, "loose": {40, 28 * mib, "cpu.torch"},
	"window": {10, 100*mib + 1, "cpu.mapped"}, "numbers": {80, 48 * mib, "cpu.mapped"},
}

// TestAuditViews checks that memory that only views hold has a verdict. It names the views, their bytes and those of
// the memory. Its advice gives back the predicted bytes, on the meter of the memory.
func TestAuditViews(t *testing.T) {
	together(t)
	needModules(t, "pandas", "torch")
	n := startCounted(t, "UCX_MEM_MMAP_HOOK_MODE=reloc") // Debian 13's PyTorch loads UCX (docs/KNOWN_ISSUES.md)
	n.cell("import array, json, numpy as np, pandas as pd, torch")
	tr, second := traced(t, nil, n.pid, "audit", "--budget", "off"), attach(t, n.pid, "--budget", "off")
	for _, cell := range viewCells {
		n.cell(cell)
	}
	a := tr.audit(0)
	want := maps.Clone(viewsWanted)
	type typed struct {
		v  model.Verdict
		at int
	}
	var all []typed
	for _, v := range a.Verdicts {
		if v.Kind != model.HeldByView {
			if v.Kind != model.HeldAfterWindow || !strings.HasPrefix(v.Holder, "json.view") {
				t.Errorf("%s: %s, %s", v.Kind, v.Holder, v.Evidence)
			}
			continue
		}
		name := strings.Join(slices.Sorted(slices.Values(v.View.Names)), ", ")
		w, ok := want[name]
		delete(want, name)
		if !ok || v.Meter != w.meter || v.View.Bytes != w.used || v.View.Base != w.base || v.Fix == "" ||
			!strings.Contains(v.Evidence, v.View.Names[0]) {
			t.Errorf("%s: %+v %+v", name, v, v.View)
			continue
		}
		all = append(all, typed{v, n.cell(v.Fix)})
	}
	for name := range want {
		t.Errorf("no verdict on %s", name)
	}
	for _, x := range a.Variables {
		if x.Name == "small" && (x.ViewBytes != 80 || x.BaseBytes != 480*mib) || x.Name == "named" && x.BaseBytes != 0 {
			t.Errorf("the variable %s: %+v", x.Name, x)
		}
	}
	r, _ := second.stop()
	for _, one := range all {
		got, near := -consumed(t, r, one.at, one.v.Meter), int64(0)
		if one.v.Meter == "cpu.mapped" { // Python may map an arena
			near = 1 << 20
		}
		if back := one.v.View.Returns; got < back-near || got > back+near {
			t.Errorf("%q gave %d bytes of %s back, want %d", one.v.Fix, got, one.v.Meter, back)
		}
	}
}
