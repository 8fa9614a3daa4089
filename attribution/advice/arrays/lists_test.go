package arrays

import (
	"strings"
	"testing"

	"ipytracer/model"
)

// loop makes 20 parts of 4 MiB in a list.
var loop = ran{"import numpy as np\nparts = []\nfor i in range(20):\n    parts.append(np.ones(524_288) * i)",
	[]line{{1, 1, 1, nil}, {2, 0, 0, nil}, {3, 80, 80, []blocks{{made: 80, kept: 80, live: 80, count: 20}}}}}

// join is a call that makes one array of the parts.
func join(number int) line {
	return line{number, 80, 80, []blocks{{made: 80, kept: 80, live: 80, calls: []call{{"public_api", 200}}}}}
}

func TestJoined(t *testing.T) {
	all := variable("all", "float64", 20, million/2)
	flat := variable("all", "float64", 10*million)
	for _, of := range []struct {
		name, source string
		v            model.Variable
		want         string
	}{
		{"stack", "all = np.stack(parts)", all, "all = np.empty((len(parts), *parts[0].shape), dtype=np.float64)\n" +
			"for i_ in reversed(range(len(parts))):\n    all[i_] = parts.pop()\ndel parts"},
		{"array", "all = np.array(parts)", all, "all = np.empty((len(parts), *parts[0].shape), dtype=np.float64)\n" +
			"for i_ in reversed(range(len(parts))):\n    all[i_] = parts.pop()\ndel parts"},
		{"vstack", "all = np.vstack(parts)", all,
			"all = np.empty((len(parts), parts[0].shape[-1]), dtype=np.float64)\n" +
				"for i_ in reversed(range(len(parts))):\n    all[i_] = parts.pop()\ndel parts"},
		{"concatenate", "all = np.concatenate(parts)", flat,
			"all = np.empty(sum(len(part) for part in parts), dtype=np.float64)\nend = len(all)\nwhile parts:\n" +
				"    part = parts.pop()\n    all[end - len(part):end] = part\n    end -= len(part)\ndel part, parts"},
	} {
		t.Run(of.name, func(t *testing.T) {
			n := session(t, []model.Variable{of.v}, loop, ran{of.source, []line{join(1)}})
			check(t, n, Joined, 72, of.want)
		})
	}
}

func TestNotJoined(t *testing.T) {
	all := variable("all", "float64", 20, million/2)
	for _, of := range []struct {
		name   string
		source string
		lines  []line
		v      model.Variable
	}{
		{"the list is read later", "all = np.stack(parts)\nprint(len(parts))", []line{join(1), {2, 0, 0, nil}}, all},
		{"a function reads it", "all = np.stack(parts)\ndef first():\n    return parts[0]",
			[]line{join(1), {2, 0, 0, nil}}, all},
		{"another name has it", "copy = parts\nall = np.stack(parts)", []line{{1, 0, 0, nil}, join(2)}, all},
		{"another list has a part", "first = parts[0]\nall = np.stack(parts)", []line{{1, 0, 0, nil}, join(2)}, all},
		{"along another axis", "all = np.stack(parts, axis=1)", []line{join(1)}, all},
		{"the array is not known", "all = np.stack(parts)", []line{join(1)},
			variable("other", "float64", 20, million/2)},
		{"objects", "all = np.array(parts)", []line{join(1)}, variable("all", "object", 20, million/2)},
		{"a mean of them", "all = np.mean(parts)", []line{join(1)}, all},
	} {
		t.Run(of.name, func(t *testing.T) {
			check(t, session(t, []model.Variable{of.v}, loop, ran{of.source, of.lines}), "", 0, "")
		})
	}
}

// TestJoinedInHeap: parts that lie in a heap of malloc do not go back to the system one by one.
func TestJoinedInHeap(t *testing.T) {
	heap := loop
	heap.lines = []line{{1, 1, 1, nil}, {2, 0, 0, nil},
		{3, 84, 80, []blocks{{made: 160, kept: 80, live: 80, count: 40}}}}
	n := session(t, []model.Variable{variable("all", "float64", 20, million/2)}, heap,
		ran{"all = np.stack(parts)", []line{join(1)}})
	check(t, n, "", 0, "")
}

// TestJoinedComprehension: the parts live in the call itself.
func TestJoinedComprehension(t *testing.T) {
	source := "import numpy as np\ndef wave(f):\n    return np.ones(524_288) * f\n" +
		"waves = np.array([wave(f) for f in range(20)])"
	item := blocks{made: 80, kept: 0, live: 80, count: 20, calls: []call{{"wave", 3}, {"<listcomp>", 4}}}
	n := session(t, []model.Variable{variable("waves", "float64", 20, million/2)}, ran{source, []line{{1, 1, 1, nil},
		{2, 0, 0, nil}, {4, 160, 80, []blocks{item, {made: 80, kept: 80, live: 80}}}}})
	check(t, n, Joined, 72, "import numpy as np\ndef wave(f):\n    return np.ones(524_288) * f\n"+
		"parts = [wave(f) for f in range(20)]\n"+
		"waves = np.empty((len(parts), *parts[0].shape), dtype=np.float64)\n"+
		"for i in reversed(range(len(parts))):\n    waves[i] = parts.pop()\ndel parts")
}

func TestGenerator(t *testing.T) {
	item := blocks{made: 80, kept: 0, live: 80, count: 20, calls: []call{{"wave", 2}, {"<listcomp>", 3}}}
	begin := "import numpy as np\ndef wave(f): return np.ones(524_288) * f\n"
	for _, of := range []struct{ source, want string }{
		{"total = sum([wave(f) for f in range(20)]) / 20", "total = sum(wave(f) for f in range(20)) / 20"},
		{"total = sum([wave(f) for f in range(20)], 0)", "total = sum((wave(f) for f in range(20)), 0)"},
	} {
		n := session(t, nil, ran{begin + of.source, []line{{1, 1, 1, nil}, {2, 0, 0, nil}, {3, 84, 4, []blocks{item}}}})
		check(t, n, Generator, 68, begin+of.want)
	}
	for _, use := range []string{"total = any([wave(f) for f in range(20)])", "total = [wave(f) for f in range(20)]"} {
		n := session(t, nil, ran{begin + use, []line{{1, 1, 1, nil}, {2, 0, 0, nil}, {3, 84, 4, []blocks{item}}}})
		check(t, n, "", 0, "")
	}
}

func TestGrid(t *testing.T) {
	begin := "import numpy as np\nx = np.linspace(0, 1, 2048)\nX, Y = np.meshgrid(x, x)"
	grid := line{3, 64, 64, []blocks{{made: 64, kept: 64, live: 64, count: 2, calls: []call{{"meshgrid", 1}}}}}
	variables := []model.Variable{variable("X", "float64", 2048, 2048), variable("Y", "float64", 2048, 2048)}
	run := func(use string) *ran { return &ran{use, []line{peaks(1, 32, 32), {1, 0, 0, nil}}} }
	for _, use := range []string{"Z = np.exp(-(X**2 + Y**2))", "Z = np.sin(X) * np.cos(Y) + 1"} {
		n := session(t, variables, ran{begin, []line{{1, 1, 1, nil}, {2, 0, 0, nil}, grid}}, *run(use))
		check(t, n, Grid, 63, "import numpy as np\nx = np.linspace(0, 1, 2048)\nX, Y = np.meshgrid(x, x, sparse=True)")
	}
	for _, use := range []string{"Z = np.exp(-X**2).sum() + np.exp(-Y**2).sum()", "Z = np.exp(X * Y) + X.sum()",
		"plt.contour(X, Y, X * Y)", "points = np.stack([X, Y])", "Z = X + Y + X.ravel()", "Z = X * Y; Y = 1",
		"def height():\n    return X[0] + Y[0]"} {
		n := session(t, variables, ran{begin, []line{{1, 1, 1, nil}, {2, 0, 0, nil}, grid}}, *run(use))
		check(t, n, "", 0, "")
	}
}

func TestView(t *testing.T) {
	begin := "import numpy as np\nrng = np.random.default_rng(1)\ndata = rng.normal(size=(1_310_720, 8))"
	made := ran{begin, []line{{1, 1, 1, nil}, {2, 0, 0, nil}, makes(3, 80)}}
	view := variable("first", "float64", million+million/4)
	view.ViewBytes, view.BaseBytes = 10*mib, 80*mib
	view.Execution, view.Line = 1, 3
	other := ran{"y = rng.normal(size=5_242_880)", []line{makes(1, 40)}}
	n := session(t, []model.Variable{view}, made,
		ran{"first = data[:, 0]\ndel data", []line{{1, 0, 0, nil}, {2, 0, 0, nil}}}, other)
	check(t, n, View, 40, "first = data[:, 0].copy()\ndel data")
	n = session(t, []model.Variable{view}, made, ran{"first = data[:, 0]", []line{{1, 0, 0, nil}}}, other)
	check(t, n, "", 0, "")
}

func TestCopy(t *testing.T) {
	same := variable("z", "float64", 5*million)
	setup := setup
	setup.source = strings.Replace(setup.source, "as np", "as np, copy", 1)
	same.Contents = &model.Contents{Elements: 1, Seen: 1, SameAs: []string{"x"}}
	for _, of := range []struct{ copies, use, want string }{
		{"z = x.copy()", "print(z.mean(), x.max())", "z = x"},
		{"z = np.array(x)  # safe", "w = z * 2", "z = x  # safe"},
		{"z = copy.deepcopy(x)", "print(z.mean())", "z = x"},
		{"z = x.astype(float)", "print(z.mean())", "z = x.astype(float, copy=False)"},
		{"z = np.array(x, dtype=float)", "print(z.mean())", "z = np.asarray(x, dtype=float)"},
		{"z = np.array(x, copy=True)", "print(z.mean())", ""},
		{"z = x.astype(float, order='F')", "print(z.mean())", ""},
		{"z = x.astype(float)", "z[0] = 1", ""},
		{"z = x.copy()", "z[0] = 1", ""},
		{"z = x.copy()", "x *= 2", ""},
		{"z = x.copy()", "z.sort()", ""},
		{"z = x.copy()", "np.exp(x, out=x)", ""},
		{"z = x.copy()", "rng.shuffle(z)", ""},
		{"z = x.copy()", "head = z[:3]", ""},
		{"z = x.copy()", "def f():\n    x[0] = 1", ""},
		{"z = x + 0", "print(z.mean())", ""},
	} {
		t.Run(of.copies+" "+of.use, func(t *testing.T) {
			n := session(t, both(same), setup, ran{of.copies, []line{makes(1, 40)}},
				ran{of.use, []line{peaks(1, 40, 0)}})
			kind, saves := Copy, int64(40)
			if of.want == "" {
				kind, saves = "", 0
			}
			check(t, n, kind, saves, of.want)
		})
	}
}

// TestCopyOfOtherDType: equal bytes may be other numbers.
func TestCopyOfOtherDType(t *testing.T) {
	same := variable("z", "int64", 5*million)
	same.Contents = &model.Contents{Elements: 1, Seen: 1, SameAs: []string{"x"}}
	n := session(t, both(same), setup, ran{"z = x.astype(int)", []line{makes(1, 40)}},
		ran{"print(z.mean())", []line{peaks(1, 40, 0)}})
	check(t, n, "", 0, "")
}
