package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ipytracer/model"
)

// bothWays are two tracers of one process: small arrays are counted in the first one's page, and each array of any size
// passes the second one's probes, which are the truth.
type bothWays struct{ page, probes *trace }

// countBothWays attaches two tracers. The process has a line to the first one, which it has asked for a page.
func countBothWays(t *testing.T, pid int) bothWays {
	t.Helper()
	return bothWays{attach(t, pid, "--budget", "off"), attach(t, pid, "--budget", "off", "--small-arrays")}
}

// compare ends both tracers, and compares the cells' figures of NumPy's arrays to the byte. It returns how many it has
// compared, and the cells that were counted in a page and have no exact figure by a way.
func (b bothWays) compare(t *testing.T, pid int) (compared int, inexact []string) {
	t.Helper()
	page, _ := b.page.stop()
	probes, _ := b.probes.stop()
	counted, truth := topCells(page, pid), topCells(probes, pid)
	if !slices.Equal(sources(counted), sources(truth)) {
		t.Fatalf("the tracers saw other cells: %d, %d", len(counted), len(truth))
	}
	for i, w := range counted {
		f, want := w.Meters["cpu.numpy"], truth[i].Meters["cpu.numpy"]
		if f.Accuracy != model.CountedInProcess {
			continue
		}
		if !f.Exact || !want.Exact {
			inexact = append(inexact, w.Source)
			t.Logf("%q: %+v, the probes say %+v", w.Source, f, want)
			continue
		}
		compared++
		if f.Peak-f.Start != want.Peak-want.Start || f.End-f.Start != want.End-want.Start {
			t.Errorf("%q: counted %+v, the probes say %+v", w.Source, f, want)
		}
	}
	return compared, inexact
}

// countingEnv is the environment of a kernel that counts small arrays itself from its first cell on. numpy is the
// folder of another NumPy than the Python's own; "" for none.
func countingEnv(t *testing.T, numpy string) []string {
	t.Helper()
	env, told := companionAt(t, "/") // its folder is below /tmp, which chroots have, too
	folder := filepath.Dir(told)
	buildCounts(t, filepath.Join(folder, "ipytracer/counts"))
	startup, err := os.ReadFile(filepath.Join(workloads, "counting_startup.py"))
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "counting_startup.py"), startup, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	libraries := strings.TrimSuffix(folder+":"+numpy, ":")
	return append(env, "IPYTRACER_LIBRARIES="+libraries, "PYTHONPATH="+libraries,
		"PYTHONSTARTUP="+filepath.Join(folder, "counting_startup.py"))
}

// TestCountedWays runs the cells of known memory, and compares both ways to count NumPy's arrays in one process.
func TestCountedWays(t *testing.T) {
	together(t)
	onNumPys(t, func(t *testing.T, p place) {
		w := startWorkload(t, p, nil)
		both := countBothWays(t, w.pid)
		w.run()
		compared, inexact := both.compare(t, w.pid)
		t.Logf("%d cells are equal to the byte", compared)
		if compared < 90 || len(inexact) > 0 {
			t.Errorf("%d cells were compared, not %q", compared, inexact)
		}
	})
}

// onNumPys runs a check on kernels that count small arrays themselves, of this machine's Python and of others.
func onNumPys(t *testing.T, check func(*testing.T, place)) {
	t.Helper()
	for name, p := range map[string]place{
		"host":       {},
		"python3.13": inTree("trixie", "3.13"),
		"python3.14": inTree("sid", "3.14"),
		"python3.15": inTree("sid", "3.15"),
		"numpy1.22":  inTree("numpys", "3.9").with("1.22"),
		"numpy1.23":  inTree("numpys", "3.9").with("1.23"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p.need(t)
			p.driver, p.env = "run_kernel.py", countingEnv(t, p.numpy)
			check(t, p)
		})
	}
}

// arraysMade are cells that make arrays in every way that NumPy has, and on every thread of Python.
var arraysMade = []string{
	"import asyncio, gc, io, os, pickle, threading\nfrom concurrent.futures import ThreadPoolExecutor\nkept = []",
	"kept = [np.ones(n % 3000) for n in range(5000)]",
	"del kept[::2]",
	"(np.ones(5000) * 2 + 1).sum(); np.ones(1 << 17).reshape(-1, 64) @ np.ones((64, 8))",
	"a = np.ones(5); a.resize(1000, refcheck=False); a.resize(100_000, refcheck=False); a.resize(7000, refcheck=False)",
	"for n in range(1, 20_000, 37): a.resize(n, refcheck=False)",
	"b = np.fromiter((i for i in range(12_345)), 'i8'); c = np.fromiter((i for i in range(123)), 'i8')",
	`d = np.loadtxt(io.StringIO("\n".join("1 2 3" for _ in range(5000))))`,
	`d = np.genfromtxt(io.StringIO("\n".join("1,2,3" for _ in range(300))), delimiter=",")`,
	"f = io.BytesIO(); np.save(f, np.arange(3000.)); f.seek(0); e = np.load(f)",
	"f = io.BytesIO(); np.savez_compressed(f, x=np.arange(99_999), y=np.arange(3))\nf.seek(0); e = dict(np.load(f))",
	"g = np.array([object() for _ in range(3000)]); h = np.array([[1, 'a'], [None, 2.0]] * 500, dtype=object)",
	"g = np.array([np.ones(n) for n in range(200)], dtype=object)",
	"i = pickle.loads(pickle.dumps(np.arange(5000)))\nj = pickle.loads(pickle.dumps([np.ones(20)] * 9, protocol=2))",
	"k = np.array(['text %d' % n for n in range(2000)]); l = np.zeros(500, dtype='i4,f8,U5')",
	"m = np.concatenate([np.ones(n) for n in range(100)]); n = np.sort(m); o = np.unique(np.arange(9000) % 77)",
	"np.linalg.svd(np.ones((60, 60)) + np.eye(60)); np.fft.fft(np.ones(4096))",
	"np.einsum('ij,jk', *[np.ones((50, 50))] * 2)",
	"p = np.random.default_rng(1).normal(size=6000); p = np.percentile(p, [5, 50, 95])",
	"def work(n): kept.append(np.ones(n))\n" +
		"ts = [threading.Thread(target=work, args=(n,)) for n in range(3000, 3020)]\n" +
		"for t in ts: t.start()\nfor t in ts: t.join()",
	"with ThreadPoolExecutor(4) as pool: list(pool.map(work, range(100, 9000, 89)))",
	"async def task(n):\n    x = np.ones(n)\n    await asyncio.sleep(0)\n    kept.append(x[:1].copy())\n" +
		"await asyncio.gather(*(task(n) for n in range(1000, 9000, 100)))",
	"await asyncio.gather(*(asyncio.to_thread(work, n) for n in range(1000, 9000, 500)))",
	"child = os.fork()\nif not child:\n    kept.clear(); x = [np.ones(n) for n in range(3000)]\n" +
		"    a.resize(9, refcheck=False)\n    os._exit(0)\nos.waitpid(child, 0)",
	"import multiprocessing as mp\n" +
		"with mp.get_context('fork').Pool(2) as pool: q = pool.map(np.ones, range(500, 1500, 10))",
	"r = np.ma.masked_array(np.arange(2000), mask=np.arange(2000) % 2)",
	"s = np.nditer([np.ones(3000), None]).operands[1]",
	"import tempfile; t = np.memmap(tempfile.TemporaryFile(), dtype='u1', mode='w+', shape=9000) + 1",
	// Code without the companion's allocator: the probes see its arrays, from 1,024 bytes on.
	"import contextvars; u = contextvars.Context().run(lambda: [np.empty(n) for n in range(128, 3000)])",
	"import _thread; made = threading.Event()\n" +
		"_thread.start_new_thread(lambda: (kept.append(np.empty(5000)), made.set()), ()); made.wait()",
	"kept.clear(); del a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u; gc.collect()",
}

// otherHandler makes arrays by a memory handler that is neither NumPy's nor the companion's.
const otherHandler = `import ctypes
from ipytracer._counts import COUNTS
theirs = ctypes.create_string_buffer(ctypes.string_at(COUNTS._address(COUNTS._numpys), 200), 200)
new = ctypes.pythonapi.PyCapsule_New
new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
name = b"mem_handler"      # a capsule does not keep it
before = COUNTS._set(new(ctypes.addressof(theirs), name, None))
x = [np.ones(n) for n in range(3000)]
_ = COUNTS._set(before)`

// TestCountedWaysOfArrays compares both ways for arrays of every kind. An array of another memory handler is not in the
// page: from then on the tracer that reads the page does not say that its figures are exact.
func TestCountedWaysOfArrays(t *testing.T) {
	together(t)
	onNumPys(t, func(t *testing.T, p place) {
		var args []string
		if p.chroot != "" {
			args = []string{"--chroot", p.chroot, "--python", p.python}
		}
		n := startNotebook(t, p.env, args...)
		both := countBothWays(t, n.pid)
		n.run("import numpy as np; from ipytracer._counts import COUNTS")
		until(t, "it counts in a page", func() bool { return strings.HasPrefix(n.run("print(COUNTS.shared)"), "True") })
		n.all(arraysMade...)
		n.all(otherHandler, "x = [np.ones(n) for n in range(3000)]")
		compared, inexact := both.compare(t, n.pid)
		t.Logf("%d cells are equal to the byte", compared)
		if compared < len(arraysMade) || len(inexact) != 2 || inexact[0] != otherHandler {
			t.Errorf("%d cells were compared, not %q", compared, inexact)
		}
	})
}

// all runs cells, which must not fail.
func (n *notebook) all(cells ...string) {
	n.t.Helper()
	for _, cell := range cells {
		if s := n.asks(cell); s.Status != "ok" {
			n.t.Errorf("%q: %s", cell, s.Outputs)
		}
	}
}

// TestCountedWaysOfNotebooks compares both ways in ordinary notebooks: one of them by turns, all with `make
// test-notebooks`.
func TestCountedWaysOfNotebooks(t *testing.T) {
	together(t)
	needModules(t, "sklearn", "matplotlib", "seaborn", "joblib", "torch", "PIL", "pandas")
	for i, names := range notebooks(t) {
		if !isItsTurn(i, 10) || slices.Contains(names, "interactive") { // it names the numbers of its cells
			continue
		}
		t.Run(kernelName(names), func(t *testing.T) {
			// Before the page, arrays below 1,024 bytes are not counted.
			first := filepath.Join(t.TempDir(), "first.ipy")
			wait := strings.Repeat("# %% waits\nimport time; time.sleep(0.2)\n", 10)
			if err := os.WriteFile(first, []byte(wait), 0o600); err != nil {
				t.Fatal(err)
			}
			w := startWorkload(t, place{driver: "../notebooks/run_notebook.py", env: countingEnv(t, "")},
				append([]string{first}, names...))
			both := countBothWays(t, w.pid)
			results := w.run()
			compared, inexact := both.compare(t, w.pid)
			t.Logf("%d of %d cells are equal to the byte; not exact: %d", compared, len(results), len(inexact))
			if compared == 0 {
				t.Error("no cell was compared")
			}
		})
	}
}
