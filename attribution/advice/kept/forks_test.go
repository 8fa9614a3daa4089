package kept

import (
	"strings"
	"testing"
	"time"

	"ipytracer/attribution/advice/advicetest"
	"ipytracer/model"
)

// grown are processes that grew by so many MiB each.
func grown(count int, size int64) (all []advicetest.Fork) {
	for range count {
		all = append(all, advicetest.Fork{Shared: 60, Grew: size})
	}
	return all
}

// lived makes a process live for a part of its step.
func lived(f []advicetest.Fork, from, to int64) []advicetest.Fork {
	for i := range f {
		f[i].From, f[i].To = from, to
	}
	return f
}

func TestForks(t *testing.T) {
	const pool = "with Pool(4) as p:\n    a = p.map(f, x)"
	for _, of := range []struct {
		name, source, want string
		children           int64
		forks              []advicetest.Fork
		saves              int64
	}{
		{"a pool", pool, "with Pool(2) as p:\n    a = p.map(f, x)", 200, grown(4, 50), 100},
		{"of three", "p = mp.Pool(processes=n)\na = p.map(f, x)", "p = mp.Pool(processes=1)\na = p.map(f, x)", 150,
			grown(3, 50), 100},
		{"with nothing", "a = Pool().map(f, x)", "a = Pool(2).map(f, x)", 200, grown(4, 50), 100},
		{"with something else", "a = Pool(initializer=g).map(f, x)", "a = Pool(2, initializer=g).map(f, x)", 200,
			grown(4, 50), 100},
		{"an executor", "with futures.ProcessPoolExecutor(max_workers=6) as e:\n    a = list(e.map(f, x))",
			"with futures.ProcessPoolExecutor(max_workers=3) as e:\n    a = list(e.map(f, x))", 300, grown(6, 50), 150},
		{"not all as high at once", pool, "with Pool(2) as p:\n    a = p.map(f, x)", 120, grown(4, 50), 20},
		{"hardly any at once", pool, "", 90, grown(4, 50), 0},
		{"one after another", pool, "", 90, append(lived(grown(1, 50), 0, 400), lived(grown(1, 50), 400, 800)...), 0},
		{"one", pool, "", 50, grown(1, 50), 0},
		{"a program, too", pool, "", 200, append(grown(4, 50), advicetest.Fork{Grew: 9, Command: "ls"}), 0},
		{"no processes", pool, "", 0, nil, 0},
		{"unknown arguments", "a = Pool(*all).map(f, x)", "", 200, grown(4, 50), 0},
		{"two pools", "a = Pool(4).map(f, x)\nb = Pool(4).map(g, x)", "", 200, grown(4, 50), 0},
		{"of a library", "a = fit(x)", "", 200, grown(4, 50), 0},
		{"or of a loader", "a = Pool(4).map(f, DataLoader(x, num_workers=2))", "", 200, grown(4, 50), 0},
	} {
		t.Run(of.name, func(t *testing.T) {
			n := session(model.Report{}, cell{Source: of.source, Steps: []step{{Line: 1, Peak: 5,
				Children: of.children, Forks: of.forks}}})
			if of.want == "" {
				check(t, n, "", 0, 0, 0)
				return
			}
			check(t, n, "fork", 1, 1, of.saves, of.want)
		})
	}
}

// TestProcesses: there is no change of the code for processes that a loop starts.
func TestProcesses(t *testing.T) {
	const loop = "for i in range(4):\n    p = Process(target=f, args=(i,))\n    p.start()"
	n := session(model.Report{}, cell{Source: loop, Steps: []step{{Line: 1, Peak: 5, Children: 200,
		Forks: grown(4, 50)}}})
	check(t, n, "fork", 1, 2, 100)
	n = session(model.Report{}, cell{Source: "p = psutil.Process()\nrun()", Steps: []step{{Line: 2, Peak: 5,
		Children: 200, Forks: grown(4, 50)}}})
	check(t, n, "", 0, 0, 0)
}

func TestLoaders(t *testing.T) {
	const reads = "class D(Dataset):\n    def __init__(self):\n        self.n = 3\n" +
		"    def __getitem__(self, i):\n        "
	for _, of := range []struct{ name, dataset, call, want string }{
		{"workers", reads + "x = {}\n        x['a'] = 1\n        return x", "DataLoader(d, 8, num_workers=4)",
			"DataLoader(d, 8, num_workers=0)"},
		{"batches ahead", "d = D()", "DataLoader(d, batch_size=8, num_workers=n, prefetch_factor=3, shuffle=True)",
			"DataLoader(d, batch_size=8, num_workers=0, shuffle=True)"},
		{"in front", "d = D()", "data.DataLoader(d, persistent_workers=True, num_workers=4)",
			"data.DataLoader(d, num_workers=0)"},
		{"over lines", "d = D()", "DataLoader(d,\n    num_workers=4,\n    prefetch_factor=4,\n)",
			"DataLoader(d,\n    num_workers=0,\n)"},
		{"set up by a function", "d = D()", "DataLoader(d, num_workers=4, worker_init_fn=seed)", ""},
		{"not forked", "d = D()", "DataLoader(d, num_workers=4, multiprocessing_context='spawn')", ""},
		{"unknown arguments", "d = D()", "DataLoader(d, num_workers=4, **more)", ""},
		{"more of them", "d = D()", "DataLoader(*d, num_workers=4)", ""},
		{"no workers", "d = D()", "DataLoader(d, num_workers=0)", ""},
		{"asks for its worker", "i = get_worker_info()", "DataLoader(d, num_workers=4)", ""},
		{"shares the work", "class D(data.IterableDataset): pass", "DataLoader(d, num_workers=4)", ""},
		{"keeps what it loads", reads + "self.seen[i] = load(i)", "DataLoader(d, num_workers=4)", ""},
		{"keeps it in a list", reads + "seen.append(i)", "DataLoader(d, num_workers=4)", ""},
		{"keeps it in a global", reads + "global seen; seen = i", "DataLoader(d, num_workers=4)", ""},
		{"keeps it in a cache", "class D:\n    @cache\n    def __getitem__(self, i): return i",
			"DataLoader(d, num_workers=4)", ""},
		{"a pool, too", "Pool(4)", "DataLoader(d, num_workers=4)", ""},
	} {
		t.Run(of.name, func(t *testing.T) {
			n := session(model.Report{}, cell{Source: of.dataset, Steps: []step{{Line: 1}}},
				cell{Source: "for x in " + of.call + ": pass", Steps: []step{{Line: 1, Peak: 30, Children: 200,
					Forks: grown(4, 50)}}})
			if of.want == "" {
				check(t, n, "", 0, 0, 0)
				return
			}
			check(t, n, "loader", 2, 1, 150, "for x in "+of.want+": pass")
		})
	}
}

// TestManyProcesses bounds the time for sources and sessions that were made to take long.
func TestManyProcesses(t *testing.T) {
	for _, source := range []string{
		"a = Pool(4)" + strings.Repeat(".Pool(4)", 5_000),
		strings.Repeat("DataLoader(d, num_workers=4, prefetch_factor=2)\n", 500),
		strings.Repeat("class D:\n def __getitem__(self, i):\n  a[0][0].b = 1\n", 500) + "DataLoader(d, num_workers=4)",
		"DataLoader(" + strings.Repeat("a,", 8_000) + "num_workers=1)",
	} {
		var all []cell
		for range 10 {
			all = append(all, cell{Source: source, Steps: []step{{Line: 1, Peak: 30, Children: 4000,
				Forks: grown(200, 50)}}})
		}
		begun := time.Now()
		n := session(model.Report{}, all...)
		for _, rule := range Rules()[7:] {
			for _, c := range rule(n) {
				n.Saves(c.Falls)
			}
		}
		if took := time.Since(begun); took > 20*time.Second {
			t.Errorf("took %s for %.40q", took, source)
		}
	}
}
