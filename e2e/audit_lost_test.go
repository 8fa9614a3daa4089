package e2e

import (
	"fmt"
	"strings"
	"testing"

	"ipytracer/model"
)

// lostCells leave one cycle each, with memory of 8 MiB times a number. lost is whether the collector does not see it,
// and breaks the line that would have broken it.
var lostCells = []struct {
	name, code string
	size       int64
	lost       bool
	breaks     string
}{
	{"object array", "class Lattice:\n    def __init__(self, n):\n        self.data = np.ones(n)\n" +
		"        self.cells = np.empty(3, object)\n        self.cells[:] = [Location(self) for i in range(3)]\n" +
		"class Location:\n    def __init__(self, parent): self.parent = parent\n" +
		"lat = Lattice(3 << 20)\nlat = Lattice(1)", 3, true, "lat.cells[:] = None"},
	{"array in a dict of a frame", "def nest(n):\n    found = {'data': np.ones(n), 'cells': np.empty(2, object)}\n" +
		"    found['cells'][0] = [found]\nnest(4 << 20)", 4, true, "x[0]['cells'][:] = None (x is the list)"},
	{"array of a class of its own", "class Cells(np.ndarray): pass\nclass Grid: pass\ndef grid(n):\n    g = Grid()\n" +
		"    g.data, g.inner = np.ones(n), Cells((2,), object)\n    g.inner[0] = g\ngrid(5 << 20)", 5, true,
		"x.inner[:] = None (x is the Grid)"},
	{"ordinary cycle that hangs on one", "class Node: pass\ndef hang(n):\n    a, b, g = Node(), Node(), Grid()\n" +
		"    a.other, b.other, a.data = b, a, np.ones(n)\n    g.inner, g.node = np.empty(2, object), a\n" +
		"    g.inner[0] = g\nhang(6 << 20)", 6, true, "x.inner[:] = None (x is the Grid)"},
	{"array of records", "def record(n):\n    g = Grid()\n    g.table = np.zeros(3, [('x', float), ('of', object)])\n" +
		"    g.table['of'][1] = g\n    g.data = np.ones(n)\nrecord(13 << 20)", 13, true,
		"x.table = None (x is the Grid)"},
	{"one record", "def one(n):\n    g = Grid()\n" +
		"    g.row = np.zeros(3, [('in', [('of', object), ('x', float)])])[1]\n" +
		"    g.row['in']['of'], g.data = g, np.ones(n)\none(15 << 20)", 15, true, "x.row = None (x is the Grid)"},
	{"view of an object array", "def part(n):\n    g = Grid()\n    whole = np.empty(3, object)\n    whole[2] = g\n" +
		"    g.part, g.data = whole[:2], np.ones(n)\npart(17 << 20)", 17, true,
		"x.part.base[:] = None (x is the Grid)"},
	{"object array that an ordinary cycle has", "def holds(n):\n    a = Node()\n" +
		"    a.me, a.cells = a, np.empty(2, object)\n" +
		"    a.cells[0] = Node()\n    a.cells[0].data = np.ones(n)\nholds(7 << 20)", 7, false, ""},
	{"callback of ctypes", "def calls(n):\n    a = Node()\n    a.data = np.ones(n)\n" +
		"    a.call = ctypes.CFUNCTYPE(None)(lambda: a)\ncalls(9 << 20)", 9, false, ""},
	{"attribute of a class of arrays", "def own(n):\n    a = Cells((2,), float)\n    a.me, a.data = a, np.ones(n)\n" +
		"own(11 << 20)", 11, false, ""},
}

// TestAuditLost: the audit says of each cycle whether the collector sees it, and gc.collect() in the same kernel proves
// it: what waits goes, what is lost stays in cpu.numpy and in VmRSS. The verdict's own code frees it then.
func TestAuditLost(t *testing.T) {
	together(t)
	n := startCounted(t)
	n.cell("import ctypes, gc, numpy as np\ngc.collect(); gc.disable()")
	tr, second := traced(t, nil, n.pid, "audit", "--budget", "off"), attach(t, n.pid, "--budget", "off")
	at := map[int]int{}
	for i, c := range lostCells {
		at[n.cell(c.code)] = i
	}
	n.cell("gc.enable()")
	a := tr.audit(0)
	var waits, lost int64
	for _, c := range lostCells {
		if c.lost {
			lost += c.size << 23
		} else {
			waits += c.size << 23
		}
	}
	found := lostIn(t, a, at, waits)
	for _, f := range a.ToFree {
		if strings.Contains(f.Type, "gc.collect") && (f.Predicted < waits || f.Predicted > waits+4<<20) {
			t.Errorf("to free: %+v, want the %d bytes that wait", f, waits)
		}
	}
	resident := "int([l for l in open('/proc/self/status') if l.startswith('VmRSS')][0].split()[1]) >> 10"
	n.cell("before = " + resident)
	collected := n.cell("gc.collect()")
	n.cell(fmt.Sprintf("fell = before - (%s)\nassert abs(fell - %d) < 8, fell\nbefore -= fell", resident, waits>>20))
	fixed := map[int]int{}
	for i := range lostCells {
		if v, ok := found[i]; ok {
			fixed[i] = n.cell(v.Fix)
		} else if lostCells[i].lost {
			t.Errorf("%s: no verdict", lostCells[i].name)
		}
	}
	r, _ := second.stop()
	if got := -consumed(t, r, collected, "cpu.numpy"); got != waits {
		t.Errorf("gc.collect() gave %d bytes back, want %d", got, waits)
	}
	for i, cell := range fixed {
		if got := -consumed(t, r, cell, "cpu.numpy"); got < lostCells[i].size<<23 {
			t.Errorf("%s: %q gave %d bytes back, want %d", lostCells[i].name, found[i].Fix, got, lostCells[i].size<<23)
		}
	}
	n.cell(fmt.Sprintf("fell = before - (%s)\nassert abs(fell - %d) < 8, fell", resident, lost>>20))
}

// lostIn returns the verdicts on cells by their place in lostCells, and compares them with what these say; at has the
// cells' In[N].
func lostIn(t *testing.T, a *model.Audit, at map[int]int, waits int64) map[int]model.Verdict {
	t.Helper()
	found := map[int]model.Verdict{}
	for _, v := range a.Verdicts {
		switch v.Kind {
		case model.Waits:
			if v.Bytes != waits || v.IsLeak() {
				t.Errorf("%d bytes wait for the collector, want %d: %+v", v.Bytes, waits, v)
			}
		case model.LostInCycle:
			i, known := at[v.ExecutionCounts[0]]
			c := lostCells[i]
			if !known || !c.lost || v.Bytes != c.size<<23 || !v.IsLeak() || v.Probable || v.Change == nil ||
				!strings.Contains(v.Advice, c.breaks) || v.Fix == "" || strings.Contains(v.Advice, "gc.collect") {
				t.Errorf("%s: %+v", c.name, v)
			}
			found[i] = v
		default:
			t.Errorf("%+v", v)
		}
	}
	return found
}
