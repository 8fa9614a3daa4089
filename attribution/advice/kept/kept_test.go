package kept

import (
	"strings"
	"testing"

	"ipytracer/attribution/advice/advicetest"
	"ipytracer/model"
)

// work is a cell that goes 90 MiB above its start.
var work = cell{Source: "busy()", Steps: []step{{Line: 1, Peak: 90}}}

func TestOutput(t *testing.T) {
	const first = "import numpy as np\na = np.ones((3000, 3000))"
	for _, of := range []struct {
		name, shows, later, want string
		saves                    int64
	}{
		{"a product", "a @ a.T", "print(1)", "display(a @ a.T)", 68},
		{"a comment behind", "a @ a.T  # all", "print(1)", "display(a @ a.T)  # all", 68},
		{"two values", "a @ a.T, a.T @ a", "print(1)", "display((a @ a.T, a.T @ a))", 68},
		{"two values in parentheses", "(a @ a.T, 1)", "print(1)", "display(((a @ a.T, 1)))", 68},
		{"over lines", "(a @\n a.T)", "print(1)", "(display(a @\n a.T))", 68},
		{"_ is for what nobody uses", "a @ a.T", "for _ in range(3): pass", "display(a @ a.T)", 68},
		{"used by its number", "a @ a.T", "print(_2.shape)", "", 0},
		{"used as Out", "a @ a.T", "print(Out[2].shape)", "", 0},
		{"used as the last one", "a @ a.T", "b = _", "", 0},
		{"display is something else", "a @ a.T", "def display(x): pass", "", 0},
		{"a cell that cannot be read", "a @ a.T", "print(", "", 0},
	} {
		t.Run(of.name, func(t *testing.T) {
			shown := cell{Source: of.shows, Steps: []step{{Line: 1, Peak: 68, End: 68,
				Blocks: []blocks{{Made: 68, Kept: 68, Live: 68, Count: 1}}}}}
			r := model.Report{Variables: []model.Variable{variable("output", "Out[2]", "numpy.ndarray", 68, 2, 1)}}
			n := session(r, cell{Source: first, Steps: []step{{Line: 1}, {Line: 2}}}, shown, work,
				cell{Source: of.later, Steps: []step{{Line: 1}}})
			if of.want == "" {
				check(t, n, "", 0, 0, 0)
				return
			}
			check(t, n, "output", 2, 1, of.saves, of.want)
		})
	}
}

// TestOutputOfName: the memory goes where the name gets another value, not before.
func TestOutputOfName(t *testing.T) {
	made := blocks{Made: 90, Kept: 90, Live: 90, Count: 1}
	stays := blocks{Live: 90, Cell: 1, Line: 2}
	cells := []cell{
		{Source: "import pandas as pd\ndf = load()", Steps: []step{{Line: 1}, {Line: 2, Peak: 90, End: 90,
			Blocks: []blocks{made}}}},
		{Source: "df.head()", Steps: []step{{Line: 1}}},
		{Source: "df = df[df.x > 0]", Steps: []step{{Line: 1, Peak: 20, End: 10, Blocks: []blocks{stays}}}},
		{Source: "busy()", Steps: []step{{Line: 1, Peak: 50, Blocks: []blocks{stays}}}},
	}
	r := model.Report{Variables: []model.Variable{variable("output", "Out[2]", "DataFrame", 90, 1, 2)}}
	// In[3] stays as it is, at 210 MiB; In[4] was at 250.
	check(t, session(r, cells...), "output", 2, 1, 40, "display(df.head())")
	cells[2].Source = "other = df[df.x > 0]"
	check(t, session(r, cells...), "", 0, 0, 0)
}

func TestTraceback(t *testing.T) {
	fails := blocks{Calls: calls("load", 1, 2), Made: 80, Kept: 80, Live: 80, Count: 1}
	stays := blocks{Calls: calls("load", 1, 2), Live: 80, Cell: 2, Line: 1}
	cells := []cell{
		{Source: "def load(path):\n    a = read(path)\n    assert len(a)", Steps: []step{{Line: 1}}},
		{Source: "a = load('a')", Failed: true,
			Steps: []step{{Line: 1, Peak: 80, End: 80, Blocks: []blocks{fails}}}},
		{Source: "a = load('b')", Steps: []step{{Line: 1, Peak: 80, End: 0, Blocks: []blocks{stays}}}},
	}
	v := variable("traceback", "traceback of In[2]", "", 80, 0, 0)
	check(t, session(model.Report{Variables: []model.Variable{v}}, cells...), "traceback", 2, 1, 80,
		"import sys, gc; sys.last_value = sys.last_traceback = sys.last_exc = get_ipython().InteractiveTB.tb = "+
			"get_ipython().last_execution_result = None; gc.collect()\na = load('b')")
	other := variable("variable", "kept", "list", 80, 2, 1)
	check(t, session(model.Report{Variables: []model.Variable{v}}, cells[:2]...), "", 0, 0, 0)
	v.Name = "traceback of In[1]"
	check(t, session(model.Report{Variables: []model.Variable{v, other}}, cells...), "", 0, 0, 0)
}

func TestCache(t *testing.T) {
	tile := func(count int64) cell {
		return cell{Source: "for i in range(20):\n    tile(i)", Steps: []step{{Line: 1, Peak: 80, End: 80,
			Blocks: []blocks{{Calls: calls("tile", 1, 3), Made: 80, Kept: 80, Live: 80, Count: count}}}}}
	}
	for _, of := range []struct {
		name, source, want string
		count              int64
	}{
		{"lru_cache", "@lru_cache(maxsize=None)\ndef tile(i):\n    return read(i)",
			"@lru_cache(maxsize=1)\ndef tile(i):\n    return read(i)", 20},
		{"of 128", "@functools.lru_cache\ndef tile(i):\n    return read(i)",
			"import functools\n@functools.lru_cache(maxsize=1)\ndef tile(i):\n    return read(i)", 20},
		{"cache", "@cache\ndef tile(i):\n    return read(i)",
			"import functools\n@functools.lru_cache(maxsize=1)\ndef tile(i):\n    return read(i)", 20},
		{"of two results", "@cache\ndef tile(i):\n    return read(i)", "", 2},
		{"by type", "@lru_cache(maxsize=None, typed=True)\ndef tile(i):\n    return read(i)", "", 20},
		{"not of functools", "@memory.cache\ndef tile(i):\n    return read(i)", "", 20},
		{"of its own results", "@cache\ndef tile(i):\n    return tile(i - 1) + read(i)", "", 20},
		{"asked for its hits", "@cache\ndef tile(i):\n    return tile.cache_info() or read(i)", "", 20},
	} {
		t.Run(of.name, func(t *testing.T) {
			v := variable("variable", "tile", "functools._lru_cache_wrapper", 80, 2, 2)
			n := session(model.Report{Variables: []model.Variable{v}},
				cell{Source: of.source, Steps: []step{{Line: 1}}}, tile(of.count))
			if of.want == "" {
				check(t, n, "", 0, 0, 0)
				return
			}
			check(t, n, "cache", 1, 1, 72, of.want) // two of twenty stay
		})
	}
}

func TestSummary(t *testing.T) {
	loop := func(source string, line int) cell {
		return cell{Source: source, Steps: []step{{Line: 1}, {Line: line, Peak: 80, End: 80,
			Blocks: []blocks{{Made: 160, Kept: 80, Live: 80, Count: 40}}}}}
	}
	const list = "runs = []\nfor i in range(20):\n    run = walk(i)\n    runs.append(run)  # all"
	const dict = "runs = {}\nfor i in range(20):\n    run = walk(i)\n    runs[i] = run"
	for _, of := range []struct {
		name, loop, uses string
		want             []string
	}{
		{"a list", list, "[r.mean() for r in runs]", []string{
			"runs = []\nfor i in range(20):\n    run = walk(i)\n    runs.append(run.mean())  # all",
			"[r for r in runs]"}},
		{"a dict", dict, "m = {k: np.sum(np.square(v)) for k, v in runs.items()}", []string{
			"runs = {}\nfor i in range(20):\n    run = walk(i)\n    runs[i] = np.sum(np.square(run))",
			"m = {k: v for k, v in runs.items()}"}},
		{"used twice on a line", list, "a, b = [float(r.max()) for r in runs], [float(x.max()) for x in runs]",
			[]string{"runs = []\nfor i in range(20):\n    run = walk(i)\n    runs.append(float(run.max()))  # all",
				"a, b = [r for r in runs], [x for x in runs]"}},
		{"two summaries", list, "a, b = [r.max() for r in runs], [r.min() for r in runs]", nil},
		{"used in full", list, "a, b = [r.max() for r in runs], runs[3]", nil},
		{"read by a function", list, "a = [r.max() for r in runs]\ndef last():\n    return runs[-1]", nil},
		{"a row of each", list, "[r.mean(axis=0) for r in runs]", nil},
		{"a row of each, too", list, "[np.mean(r, 0) for r in runs]", nil},
		{"read by a text", list, "a = [r.max() for r in runs]\neval('runs')", nil},
		{"rounded", list, "[round(r.max(), 3) for r in runs]", []string{
			"runs = []\nfor i in range(20):\n    run = walk(i)\n    runs.append(round(run.max(), 3))  # all",
			"[r for r in runs]"}},
		{"no use", list, "print(1)", nil},
		{"not a summary", list, "[r.cumsum() for r in runs]", nil},
		{"of something else, too", list, "[(r * w).mean() for r in runs]", nil},
		{"an unknown function", list, "[score(r) for r in runs]", nil},
		{"changed after that", "runs = []\nfor i in range(20):\n    run = walk(i)\n    runs.append(run)\n    run -= 1",
			"[r.mean() for r in runs]", nil},
	} {
		t.Run(of.name, func(t *testing.T) {
			r := model.Report{Variables: []model.Variable{variable("variable", "runs", "list", 80, 1, 3)}}
			n := session(r, loop(of.loop, 2), cell{Source: of.uses, Steps: []step{{Line: 1}}})
			if of.want == nil {
				check(t, n, "", 0, 0, 0)
				return
			}
			check(t, n, "summary", 1, 4, 72, of.want...)
		})
	}
}

func TestFigures(t *testing.T) {
	const head = "for i in range(20):\n    "
	for _, of := range []struct{ name, body, later, want string }{
		{"with a name", "fig, ax = plt.subplots()\n    fig.savefig(str(i))", "print(1)",
			"import gc\n" + head + "fig, ax = plt.subplots()\n    fig.savefig(str(i))\n    plt.close(fig)\n" +
				"    gc.collect()"},
		{"without one", "plt.figure()\n    plt.savefig(str(i))", "print(1)",
			"import gc\n" + head + "plt.figure()\n    plt.savefig(str(i))\n    plt.close()\n    gc.collect()"},
		{"a pass that ends early", "if i > 5:\n        continue\n    fig = plt.figure()", "print(1)", ""},
		{"closed", "fig, ax = plt.subplots()\n    plt.close(fig)", "print(1)", ""},
		{"shown", "plt.figure()\n    plt.show()", "print(1)", ""},
		{"collected", "fig = plt.figure()\n    all.append(fig)", "print(1)", ""},
		{"the same one each time", "plt.figure(1)\n    plt.savefig(str(i))", "print(1)", ""},
		{"the last one is used", "fig, ax = plt.subplots()\n    fig.savefig(str(i))", "fig.tight_layout()", ""},
	} {
		t.Run(of.name, func(t *testing.T) {
			drawn := blocks{Made: 80, Kept: 80, Live: 80, Count: 20,
				Calls: []advicetest.Call{{Function: "draw", File: "/usr/lib/python3/matplotlib/image.py"}}}
			n := session(model.Report{}, cell{Source: head + of.body, Steps: []step{{Line: 1, Peak: 80, End: 80,
				Blocks: []blocks{drawn}}}}, cell{Source: of.later, Steps: []step{{Line: 1}}})
			if of.want == "" {
				check(t, n, "", 0, 0, 0)
				return
			}
			check(t, n, "figures", 1, 2, 76, of.want)
		})
	}
}

func TestGarbage(t *testing.T) {
	loop := func(body string) cell {
		return cell{Source: "import gc\nfor i in range(20):\n    " + body, Steps: []step{{Line: 1}, {Line: 2,
			Peak: 80, End: 80,
			Blocks: []blocks{{Calls: calls("Tree", 9, 0), Made: 80, Kept: 80, Live: 80, Count: 20}}}}}
	}
	garbage := []model.Freeing{{Type: "del tree; import gc; gc.collect();", Predicted: 80 * mib,
		Names: []string{"tree"}}}
	r := model.Report{Variables: []model.Variable{variable("variable", "tree", "Tree", 4, 1, 3)}, ToFree: garbage}
	check(t, session(r, loop("tree = Tree(i)")), "collect", 1, 3, 72,
		"import gc\nfor i in range(20):\n    tree = Tree(i)\n    gc.collect()")
	check(t, session(r, loop("tree = Tree(i)\n    forest.append(tree)")), "", 0, 0, 0)
	r.ToFree = nil
	check(t, session(r, loop("tree = Tree(i)")), "", 0, 0, 0)
}

func TestWorkers(t *testing.T) {
	for _, of := range []struct {
		name, source, want string
		children           int64
	}{
		{"processes", "a = Parallel(n_jobs=4)(delayed(f)(i) for i in x)",
			`a = Parallel(n_jobs=4, prefer="threads")(delayed(f)(i) for i in x)`, 320},
		{"a comma behind", "a = Parallel(n_jobs=n + 1,)(delayed(f)(i) for i in x)",
			`a = Parallel(n_jobs=n + 1, prefer="threads",)(delayed(f)(i) for i in x)`, 320},
		{"chosen", "a = Parallel(n_jobs=4, backend='loky')(delayed(f)(i) for i in x)", "", 300},
		{"two", "a = Parallel(n_jobs=4)(x), Parallel(n_jobs=4)(y)", "", 300},
		{"no processes", "a = Parallel(n_jobs=4)(delayed(f)(i) for i in x)", "", 0},
	} {
		t.Run(of.name, func(t *testing.T) {
			n := session(model.Report{}, cell{Source: of.source, Steps: []step{{Line: 1, Peak: 5,
				Children: of.children}}})
			if of.want == "" {
				check(t, n, "", 0, 0, 0)
				return
			}
			check(t, n, "workers", 1, 1, of.children*31/32, of.want)
		})
	}
}

// TestCaptured: joblib sends what the function reads as a global, directly or through another function.
func TestCaptured(t *testing.T) {
	const calls = "a = Parallel(n_jobs=4)(delayed(f)(i) for i in x)"
	for _, of := range []struct{ name, defines, calls, want string }{
		{"a global", "def f(i): return big[i]", calls, "big (64.00 MiB)"},
		{"of a function that it calls", "def g(i): return big[i]\ndef f(i): return g(i)", calls, "big (64.00 MiB)"},
		{"a lambda", "def g(of, i): return of[i]", "a = Parallel(n_jobs=4)(delayed(lambda i: g(big, i))(i) for i in x)",
			"big (64.00 MiB)"},
		{"two", "def f(i): return big[i] + also[i]", calls, "big (64.00 MiB) and another variable"},
		{"a parameter", "def f(big): return big", calls, ""},
		{"its own", "def f(i):\n    big = i\n    return big", calls, ""},
		{"a small one", "def f(i): return small", calls, ""},
	} {
		t.Run(of.name, func(t *testing.T) {
			big, also := advicetest.Variable("big", 64, 1, 1), advicetest.Variable("also", 32, 1, 1)
			small := advicetest.Variable("small", 0, 1, 1)
			n := session(model.Report{Variables: []model.Variable{also, big, small}},
				cell{Source: of.defines, Steps: []step{{Line: 1}, {Line: 2}}},
				cell{Source: of.calls, Steps: []step{{Line: 1, Peak: 5, Children: 300}}})
			all := workers(n)
			if len(all) != 1 {
				t.Fatalf("%d pieces of advice", len(all))
			}
			got := strings.Join(all[0].Unknown[1:], "")
			if of.want == "" && got != "" || !strings.Contains(got, of.want+" each process") && of.want != "" {
				t.Errorf("%q, want %q", got, of.want)
			}
		})
	}
}
