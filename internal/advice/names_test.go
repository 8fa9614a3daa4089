package advice

import (
	"slices"
	"strings"
	"testing"

	"ipytracer/internal/advice/advicetest"
	"ipytracer/internal/advice/notebook"
	"ipytracer/model"
)

// expected is a piece of advice: its kind, name and saving in MiB, and the cells with its edits.
type expected struct {
	kind, name, accuracy string
	saves                int64
	sources              []string
}

// none expects no advice.
var none = expected{}

// check compares the candidate that saves most.
func check(t *testing.T, n *notebook.Notebook, want expected) {
	t.Helper()
	var best *notebook.Candidate
	for _, rule := range []notebook.Rule{names} {
		for _, c := range rule(n) {
			if n.Saves(c.Falls) >= 4*mib && (best == nil || n.Saves(c.Falls) > n.Saves(best.Falls)) {
				best = &c
			}
		}
	}
	switch {
	case best == nil && want.kind == "":
		return
	case best == nil || want.kind == "":
		t.Fatalf("%+v, want %+v", best, want)
	}
	sources, python := advicetest.Patched(n, best.Edits)
	if got := n.Saves(best.Falls); best.Kind != want.kind || best.Names[0] != want.name || got != want.saves*mib ||
		best.Accuracy != want.accuracy {
		t.Errorf("%s %s saves %d MiB (%s), want %+v", best.Kind, best.Names[0], got/mib, best.Accuracy, want)
	}
	if !python || !slices.Equal(sources, want.sources) {
		t.Errorf("edited:\n%s\nwant:\n%s", strings.Join(sources, "\n---\n"), strings.Join(want.sources, "\n---\n"))
	}
}

// raw returns a session in which In[1] makes raw and x, and In[2] has the highest moment.
func raw(source, later string, variables ...model.Variable) *notebook.Notebook {
	return advicetest.Notebook(variables,
		advicetest.Cell{Source: source, Steps: []advicetest.Step{
			advicetest.Makes(1, 200),
			{Line: 2, Peak: 50, End: 50, Blocks: []advicetest.Blocks{
				{Made: 50, Kept: 50, Live: 50}, advicetest.Still(1, 1, 200),
			}},
		}},
		advicetest.Cell{Source: later, Steps: []advicetest.Step{
			advicetest.Needs(1, 300, advicetest.Still(1, 1, 200), advicetest.Still(1, 2, 50)),
		}})
}

// TestNameUsedForTheLastTime has a name that is used for the last time before the highest moment.
func TestNameUsedForTheLastTime(t *testing.T) {
	const two = "raw = load()\nx = raw * 2"
	deleted := []string{two + "\ndel raw"}
	for name, c := range map[string]struct {
		n    *notebook.Notebook
		want expected
	}{
		"alone at the end": {
			raw(two, "big(x)", advicetest.Variable("raw", 200, 1, 1)),
			expected{"delete", "raw", model.SavesExact, 200, deleted},
		},
		"gone by the end": {raw(two, "big(x)"), expected{"delete", "raw", model.SavesGuess, 200, deleted}},
		"little at the end, of a line that is not known": {
			raw(two, "big(x)", advicetest.Variable("raw", 2, 0, 0)), none,
		},
		"used later":             {raw(two, "big(x, raw)"), none},
		"used by a text":         {raw(two, "x.query('a > @raw')"), none},
		"used by a magic":        {raw(two, "%timeit -n1 x, raw.sum()"), none},
		"shown, and kept by Out": {raw(two, "big(x)", also(advicetest.Variable("raw", 200, 1, 1))), none},
		"shared at the end":      {raw(two, "big(x)", advicetest.Variable("raw", 0, 1, 1)), none},
		"handed on":              {raw("raw = load()\nx = raw[10:]", "big(x)"), none},
		"kept in a list":         {raw("raw = load()\nall.append(raw)", "big(all)"), none},
		"in a display":           {raw("raw = load()\nx = {'a': raw}", "big(x)"), none},
		"used by a function":     {raw("raw = load()\ndef f(): return raw", "big(f())"), none},
		"used by the next call":  {raw("raw = load()\ndef f(): return raw\n", "g = lambda: f()\nbig(g(), x)"), none},
		"a parameter of its name": {
			raw("raw = load()\ndef f(raw): return raw", "big(f(1))", advicetest.Variable("raw", 200, 1, 1)),
			expected{"delete", "raw", model.SavesExact, 200, []string{"raw = load()\ndel raw\ndef f(raw): return raw"}},
		},
		"code from a text behind it": {
			raw(two, "exec(text)", advicetest.Variable("raw", 200, 1, 1)),
			expected{"delete", "raw", model.SavesGuess, 200, deleted},
		},
		"shown last": {
			raw("raw = load()\nraw.mean()", "big(2)", advicetest.Variable("raw", 200, 1, 1)),
			expected{"delete", "raw", model.SavesExact, 200, []string{"del raw\nbig(2)"}},
		},
		"two statements on a line": {raw("raw = load()\nx = raw * 2; y = 3", "big(x)"), none},
		"its shape": {
			raw(two, "big(x, raw.shape[0], len(raw))", advicetest.Variable("raw", 200, 1, 1)), none,
		},
	} {
		t.Run(name, func(t *testing.T) { check(t, c.n, c.want) })
	}
}

// also returns a variable that an output of a cell has, too.
func also(v model.Variable) model.Variable {
	v.Also = []string{"Out[1]"}
	return v
}

// TestDeleteBoundAnew has a name that is bound anew in the statement with the highest moment: the old value lives until
// the new one is there.
func TestDeleteBoundAnew(t *testing.T) {
	const two = "raw = load()\nx = raw * 2"
	for name, c := range map[string]struct {
		n    *notebook.Notebook
		want expected
	}{
		"of itself": {raw(two, "raw = big(raw, x)"), none},
		"of others": {
			raw(two, "raw = big(x)"),
			expected{"delete", "raw", model.SavesGuess, 200, []string{two + "\ndel raw"}},
		},
		"shown before":   {raw("raw = load()\nraw", "raw = big(2)"), none},
		"within a block": {raw(two, "if x:\n    raw = 0\n    y = big(x)"), none},
	} {
		t.Run(name, func(t *testing.T) { check(t, c.n, c.want) })
	}
}

// TestDeleteTimed has cells and lines whose Python a magic runs.
func TestDeleteTimed(t *testing.T) {
	const two = "raw = load()\nx = raw * 2"
	for name, c := range map[string]struct {
		n    *notebook.Notebook
		want expected
	}{
		"read in a timed cell": {raw(two, "%%time\ny = x + raw"), none},
		"in front of a timed cell": {
			raw("raw = load()\nraw.mean()", "%%time\nbig(2)", advicetest.Variable("raw", 200, 1, 1)),
			expected{"delete", "raw", model.SavesExact, 200, []string{"%%time\ndel raw\nbig(2)"}},
		},
		"in front of a cell that runs again and again": {
			raw("raw = load()\nraw.mean()", "%%timeit\nbig(2)", advicetest.Variable("raw", 200, 1, 1)), none,
		},
		"a name of a timed line's own": {raw(two, "%timeit raw = big(x)\nraw.sum()"), none},
		"made by a timed line": {
			raw("%time raw = load()\nx = raw * 2", "big(x)", advicetest.Variable("raw", 200, 1, 1)),
			expected{"delete", "raw", model.SavesExact, 200, []string{"%time raw = load()\nx = raw * 2\ndel raw"}},
		},
		"read by a timed line that shows it": {
			raw("raw = load()\n%time raw.mean()", "big(2)", advicetest.Variable("raw", 200, 1, 1)),
			expected{"delete", "raw", model.SavesExact, 200, []string{"del raw\nbig(2)"}},
		},
	} {
		t.Run(name, func(t *testing.T) { check(t, c.n, c.want) })
	}
}

// TestDeleteElsewhere has another moment that is nearly as high: the saving is the distance to it.
func TestDeleteElsewhere(t *testing.T) {
	n := advicetest.Notebook([]model.Variable{advicetest.Variable("raw", 200, 1, 1)},
		advicetest.Cell{Source: "raw = load()\nx = raw * 2", Steps: []advicetest.Step{
			advicetest.Makes(1, 200),
			{Line: 2, Peak: 250, Blocks: []advicetest.Blocks{{Made: 250, Live: 250}, advicetest.Still(1, 1, 200)}},
		}},
		advicetest.Cell{Source: "big(x)", Steps: []advicetest.Step{
			advicetest.Needs(1, 300, advicetest.Still(1, 1, 200)),
		}})
	check(t, n, expected{"delete", "raw", model.SavesExact, 50, []string{"raw = load()\nx = raw * 2\ndel raw"}})
}

// TestValueOfTheLoopBefore has a value that is still there while the next one is made.
func TestValueOfTheLoopBefore(t *testing.T) {
	loop := func(source string, line int, live, kept, count int64, calls ...advicetest.Call) *notebook.Notebook {
		return advicetest.Notebook(nil, advicetest.Cell{Source: source, Steps: []advicetest.Step{
			{Line: line, Peak: live, End: kept, Blocks: []advicetest.Blocks{
				{Made: 50 * count, Kept: kept, Live: live, Count: count, Calls: calls},
			}},
		}})
	}
	const cell = "for i in files:\n    x = load(i)\n    use(x)"
	in := advicetest.Call{Function: "<module>", Cell: 1, Line: 2}
	const function = "def f():\n    for i in files:\n        x = load(i)\n        use(x)\nf()"
	within := advicetest.Call{Function: "f", Cell: 1, Line: 3}
	for name, c := range map[string]struct {
		n    *notebook.Notebook
		want expected
	}{
		"in a cell": {
			loop(cell, 1, 100, 50, 8, in), expected{"loop", "x", model.SavesBound, 50, []string{cell + "\n    del x"}},
		},
		"in a function": {loop(function, 5, 100, 0, 8, within), expected{"loop", "x", model.SavesBound, 50,
			[]string{"def f():\n    for i in files:\n        x = load(i)\n        use(x)\n        del x\nf()"}}},
		"one at a time": {loop(cell, 1, 50, 50, 8, in), none},
		"one turn":      {loop(cell, 1, 50, 50, 1, in), none},
		"read before":   {loop("for i in files:\n    x = more(x, i)\n    use(x)", 1, 100, 50, 8, in), none},
		"kept in a list": {
			loop("for i in files:\n    x = load(i)\n    all.append(x)", 1, 100, 50, 8, in), none,
		},
		"read behind the loop":    {loop(cell+"\nprint(x)", 1, 100, 50, 8, in), none},
		"read by the next's test": {loop("while x is None:\n    x = load()\n    use(1)", 1, 100, 50, 8, in), none},
		"one line":                {loop("for i in files: x = load(i); use(x)", 1, 100, 50, 8), none},
	} {
		t.Run(name, func(t *testing.T) { check(t, c.n, c.want) })
	}
}

// TestLoopOfTensors has tensors: a graph may hold what others are made of, unless gradients are off.
func TestLoopOfTensors(t *testing.T) {
	const loop = "for i in files:\n    x = load(i)\n    use(x)"
	for source, want := range map[string]expected{
		loop: none,
		"for i in files:\n    x = load(i)\n    y": {"loop", "x", model.SavesBound, 50, nil},
		"with torch.no_grad():\n    for i in files:\n        x = load(i)\n        use(x)": {
			"loop", "x", model.SavesBound, 50, nil,
		},
	} {
		line := 2 + strings.Count(source, "with")
		n := advicetest.Notebook(nil, advicetest.Cell{Source: source, Steps: []advicetest.Step{
			{Line: 1, Peak: 100, End: 50, Blocks: []advicetest.Blocks{{
				Made: 400, Kept: 50, Live: 100, Count: 8, Meter: "cpu.torch",
				Calls: []advicetest.Call{{Function: "<module>", Cell: 1, Line: line}},
			}}},
		}})
		if want.kind != "" {
			at := strings.LastIndex(source, "\n")
			indent := strings.Repeat(" ", 4*(line-1))
			if strings.Contains(source, "use") {
				at = len(source)
			}
			want.sources = []string{source[:at] + "\n" + indent + "del x" + source[at:]}
		}
		check(t, n, want)
	}
}

// TestNameOfAFunctionUpToItsReturn has a function with a name that holds memory up to its return.
func TestNameOfAFunctionUpToItsReturn(t *testing.T) {
	meter := ""
	function := func(source string, live ...int64) *notebook.Notebook {
		step := advicetest.Step{Line: 1}
		for i, size := range live {
			step.Blocks = append(step.Blocks, advicetest.Blocks{
				Made: size, Live: size, Meter: meter, Calls: []advicetest.Call{{Function: "f", Cell: 1, Line: i + 2}},
			})
			step.Peak += size
		}
		return advicetest.Notebook(nil, advicetest.Cell{Source: source},
			advicetest.Cell{Source: "f()", Steps: []advicetest.Step{step}})
	}
	const source = "def f():\n    raw = load()\n    x = clean(raw)\n    y = big(x)\n    return y"
	deleted := []string{"def f():\n    raw = load()\n    x = clean(raw)\n    del raw\n    y = big(x)\n    return y"}
	for name, c := range map[string]struct {
		n    *notebook.Notebook
		want expected
	}{
		"behind its last use": {
			function(source, 100, 50, 200), expected{"local", "raw", model.SavesGuess, 100, deleted},
		},
		"nothing made behind":  {function(source, 100, 50), none},
		"needed then":          {function(strings.Replace(source, "big(x)", "big(raw, x)", 1), 100, 50, 200), none},
		"returned":             {function(strings.Replace(source, "return y", "return raw", 1), 100, 50, 200), none},
		"in a function of its": {function(source+"\n    g = lambda: raw", 100, 50, 200), none},
		"a generator":          {function(strings.Replace(source, "return y", "yield y", 1), 100, 50, 200), none},
		"a view of it":         {function(strings.Replace(source, "clean(raw)", "raw[1:]", 1), 100, 50, 200), none},
		"the clean step needs as much": {
			function(source, 100, 190, 10), expected{"local", "raw", model.SavesGuess, 10, deleted},
		},
	} {
		t.Run(name, func(t *testing.T) { check(t, c.n, c.want) })
	}
	known := strings.NewReplacer("load()", "rng.normal(size=9)", "clean(raw)", "raw * 2")
	check(t, function(known.Replace(source), 100, 50, 200), expected{
		"local", "raw", model.SavesBound, 100, []string{known.Replace(deleted[0])},
	})
	meter = "cpu.mapped" // of a module that was imported, or of malloc
	check(t, function(source, 100, 50, 200), none)
	meter = "cpu.torch" // a graph may hold it
	check(t, function(source, 100, 50, 200), none)
	check(t, function("@torch.no_grad()\n"+source, 0, 100, 50, 200), expected{
		"local", "raw", model.SavesGuess, 100, []string{"@torch.no_grad()\n" + deleted[0]},
	})
}
