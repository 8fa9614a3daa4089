package names_test

import (
	"slices"
	"strings"
	"testing"

	"ipytracer/internal/advice/advicetest"
	"ipytracer/internal/advice/evidence"
	"ipytracer/internal/advice/names"
	"ipytracer/internal/syntax"
	"ipytracer/model"
)

// divided returns a session of cells with a statement on each of their lines. PyTorch refused 400 MiB on a line of the
// last one: without 20 MiB of a line of In[2] they would have fitted.
func divided(meter string, made, refused int, variables []model.Variable, sources ...string) *evidence.Notebook {
	var cells []advicetest.Cell
	for _, source := range sources {
		cell := advicetest.Cell{Source: source}
		for i, line := range strings.Split(source, "\n") {
			if strings.HasPrefix(line, " ") {
				continue
			}
			for range 1 + strings.Count(line, ";") {
				cell.Steps = append(cell.Steps, advicetest.Step{Line: i + 1})
			}
		}
		cells = append(cells, cell)
	}
	r := advicetest.Report(variables, cells...)
	var asks *model.Window
	for i := range r.Windows {
		w := &r.Windows[i]
		w.Meters["gpu.0.reserved"] = model.Figure{Start: 600 * mib, Peak: 600 * mib, End: 600 * mib}
		w.Meters["gpu.0.active"] = model.Figure{Start: 100 * mib, Peak: 100 * mib, End: 100 * mib}
		if w.Kind == model.Statement && w.Line == refused {
			asks = w
		}
	}
	asks.Refused = []model.Refusal{{Meter: "gpu.0.active", Asked: 400 * mib, Held: 100 * mib, Reserved: 600 * mib,
		Count: 1, Dividers: []model.Divider{{Bytes: 20 * mib, Before: 200 * mib, After: 300 * mib,
			Stack: []model.Frame{{Function: "empty", File: "/torch.py", Line: 9},
				{Function: "<module>", Execution: 2, Line: made}}}}}}
	return evidence.Read(r, evidence.Options{Meter: meter, Parse: syntax.ParseCell})
}

// tensor is a variable of the end with memory of a GPU.
func tensor(name string, size int64, also ...string) model.Variable {
	return model.Variable{Name: name, Type: "Tensor", Device: size * mib, Exact: true, Also: also}
}

func find(n *evidence.Notebook) *evidence.Candidate {
	for _, rule := range names.Rules() {
		for _, c := range rule(n) {
			if c.Kind == "divider" {
				return &c
			}
		}
	}
	return nil
}

// TestDivider: a name that nothing uses any more holds the block that keeps free memory of the cache apart.
func TestDivider(t *testing.T) {
	const first, last = "import torch", "big = empty(400)\nprint(big)"
	n := divided("gpu.0.reserved", 1, 1, []model.Variable{tensor("mask", 20)}, first,
		"mask = empty(20)\nuse(mask)", last)
	c := find(n)
	if c == nil {
		t.Fatal("no advice")
	}
	sources, python := advicetest.Patched(n, c.Edits)
	if !python || !slices.Equal(sources, []string{"del mask\n" + last}) {
		t.Errorf("%q", sources)
	}
	if c.Fits != 400*mib || c.Falls(n.Peak) != 0 || c.Names[0] != "mask" || c.Line != 1 || c.Cell != n.Cells[2] ||
		c.Accuracy != model.SavesGuess || len(c.Unknown) != 1 ||
		!strings.Contains(c.Title, "one piece of 520.00 MiB for the 400.00 MiB that PyTorch refused in In[3] line 1") {
		t.Errorf("%+v", c)
	}
}

// TestDividerElsewhere has the places of the edit, and what is said of facts that are not known.
func TestDividerElsewhere(t *testing.T) {
	const first, second = "import torch", "mask = empty(20)\nuse(mask)"
	for name, of := range map[string]struct {
		variables []model.Variable
		second    string
		last      string
		refused   int
		want      string // of the last cell
		unknown   string
	}{
		"in the middle": {[]model.Variable{tensor("mask", 20)}, second, "use(1)\nbig = empty(400)", 2,
			"use(1)\ndel mask\nbig = empty(400)", ""},
		"behind its last use": {[]model.Variable{tensor("mask", 20)}, second, "use(mask)\nbig = empty(400)", 2,
			"use(mask)\ndel mask\nbig = empty(400)", ""},
		"the next value of its name": {nil, second, "mask = empty(400)", 1, "del mask\nmask = empty(400)",
			"the session's end does not show mask"},
		"timed": {[]model.Variable{tensor("mask", 20)}, second, "%%time\nbig = empty(400)", 1,
			"%%time\ndel mask\nbig = empty(400)", ""},
		"a graph": {nil, "nn = 1\n" + second, "big = empty(400)", 1, "del mask\nbig = empty(400)", "PyTorch's graph"},
		"a rest of it": {[]model.Variable{tensor("mask", 19)}, second, "big = empty(400)", 1,
			"del mask\nbig = empty(400)", ""},
		"any name": {nil, second, "exec(code)\nbig = empty(400)", 2, "exec(code)\ndel mask\nbig = empty(400)", "exec"},
	} {
		made := strings.Count(strings.Split(of.second, "mask")[0], "\n") + 1
		n := divided("gpu.0.active", made, of.refused, of.variables, first, of.second, of.last)
		c := find(n)
		if c == nil {
			t.Errorf("%s: no advice", name)
			continue
		}
		sources, python := advicetest.Patched(n, c.Edits)
		if !python || !slices.Equal(sources, []string{of.want}) ||
			!strings.Contains(strings.Join(c.Unknown, "\n"), of.unknown) {
			t.Errorf("%s: %q %q", name, sources, c.Unknown)
		}
	}
}

// TestNoDivider has sessions in which `del` would not help, or would end in an error.
func TestNoDivider(t *testing.T) {
	const first, second, last = "import torch", "mask = empty(20)\nuse(mask)", "big = empty(400)"
	held, other := []model.Variable{tensor("mask", 20)}, []model.Variable{tensor("mask", 20, "other")}
	smaller := []model.Variable{tensor("mask", 18)}
	for name, n := range map[string]*evidence.Notebook{
		"of another GPU":       divided("gpu.1.reserved", 1, 1, held, first, second, last),
		"of no GPU":            divided("cpu.resident", 1, 1, held, first, second, last),
		"used there":           divided("gpu.0.reserved", 1, 1, held, first, second, "big = f(mask)"),
		"used behind it":       divided("gpu.0.reserved", 1, 1, held, first, second, last+"\nuse(mask)"),
		"used by a function":   divided("gpu.0.reserved", 1, 1, held, "def f():\n    use(mask)", second, "big = f()"),
		"another name, too":    divided("gpu.0.reserved", 1, 1, other, first, second, last),
		"it is smaller":        divided("gpu.0.reserved", 1, 1, smaller, first, second, last),
		"it is on the CPU now": divided("gpu.0.reserved", 1, 1, []model.Variable{{Name: "mask"}}, first, second, last),
		"two names":            divided("gpu.0.reserved", 1, 1, nil, first, "mask, b = empty(20), empty(1)", last),
		"two at once":          divided("gpu.0.reserved", 1, 1, nil, first, "mask = b = empty(20)", last),
		"no name":              divided("gpu.0.reserved", 1, 1, nil, first, "all[1] = empty(20)", last),
		"a loop":               divided("gpu.0.reserved", 1, 1, nil, first, "for i in r: mask = empty(20)", last),
		"handed on":            divided("gpu.0.reserved", 1, 1, nil, first, "mask = empty(20)\nb = mask", last),
		"gone by then":         divided("gpu.0.reserved", 1, 1, nil, first, second+"\ndel mask", last),
		"bound anew by then":   divided("gpu.0.reserved", 1, 1, held, first, second+"\nmask = 1", last),
		"streams":              divided("gpu.0.reserved", 1, 1, held, "side = torch.cuda.Stream()", second, last),
		"pools":                divided("gpu.0.reserved", 1, 1, held, "from torch.cuda import MemPool", second, last),
		"large blocks whole":   divided("gpu.0.reserved", 1, 1, held, "o = 'max_split_size_mb:9'", second, last),
		"on one line":          divided("gpu.0.reserved", 1, 2, held, first, second, "a = 1\nuse(a); b = empty(400)"),
		"no code of Python":    divided("gpu.0.reserved", 1, 2, held, first, second, "%%bash\nbig = empty(400)"),
	} {
		if c := find(n); c != nil {
			t.Errorf("%s: %+v", name, c)
		}
	}
}
