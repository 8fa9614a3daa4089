package advice

import (
	"slices"
	"strings"
	"testing"

	"ipytracer/internal/advice/notebook"
	"ipytracer/internal/syntax"
	"ipytracer/model"
)

// frameBlock is memory that one line of a cell allocated: by calls of these functions, of a file of pandas.
type frameBlock struct {
	cell, line int
	functions  string // innermost first, separated by <
	bytes      int64
	net        int64
}

// frameRun is one statement of a session, by its cell and line.
type frameRun struct {
	cell, line       int
	start, peak, end int64
	blocks           []frameBlock
}

// frameSession returns what a session of cells shows. Statements without a run take no memory.
func frameSession(t *testing.T, cells []string, runs []frameRun, variables ...model.Variable) *notebook.Notebook {
	t.Helper()
	r := &model.Report{}
	for i, source := range cells {
		number := i + 1
		tree, err := syntax.Parse(source)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(source, "%%") {
			tree.Body = tree.Body[:1] // IPython runs the rest as one
		}
		cell := model.Window{ID: 100 * number, Kind: model.Cell, PID: 7, Execution: number, ExecutionCount: &number,
			Source: source, Status: "ok", Meters: map[string]model.Figure{"cpu.resident": {}}}
		var statements []model.Window
		for j, one := range tree.Body {
			w := model.Window{ID: 100*number + j + 1, Parent: cell.ID, Kind: model.Statement, PID: 7,
				Line: one.Place().Start.Line, Meters: map[string]model.Figure{"cpu.resident": {}}}
			for _, run := range runs {
				if run.cell == number && run.line == w.Line {
					w.Meters["cpu.resident"] = model.Figure{Start: run.start, Peak: run.peak, End: run.end}
					w.Allocations = allocations(number, w.Line, one.Place().End.Line, run.blocks)
					w.Coverage = map[string]model.Coverage{"cpu.numpy": {}}
				}
			}
			cell.Meters["cpu.resident"] = model.Figure{
				Peak: max(cell.Meters["cpu.resident"].Peak, w.Meters["cpu.resident"].Peak)}
			statements = append(statements, w)
		}
		r.Windows = append(r.Windows, cell)
		r.Windows = append(r.Windows, statements...)
	}
	for _, v := range variables {
		v.PID = 7
		r.Variables = append(r.Variables, v)
	}
	return notebook.Read(r, notebook.Options{Meter: "cpu.resident", PID: 7})
}

// allocations returns blocks as a statement has them; those of other statements are only there, or go.
func allocations(cell, from, to int, blocks []frameBlock) (all []model.Allocation) {
	for _, b := range blocks {
		a := model.Allocation{Meter: "cpu.numpy", AtPeak: b.bytes, Freed: max(0, -b.net), Net: b.net}
		if b.cell == cell && b.line >= from && b.line <= to {
			a.Allocated, a.Freed, a.Count = b.bytes, b.bytes-b.net, 1
		}
		for _, f := range strings.Split(b.functions, "<") {
			a.Stack = append(a.Stack, model.Frame{Function: f, File: "/usr/lib/pandas/core/internals/managers.py"})
		}
		a.Stack = append(a.Stack, model.Frame{Function: "<module>", Execution: b.cell, Line: b.line})
		all = append(all, a)
	}
	return all
}

// column returns a column of a frame.
func column(name, dtype string, bytes int64) model.Column {
	return model.Column{Name: name, DType: dtype, Bytes: bytes, Exact: true}
}

// frameNamed returns a variable that is a frame.
func frameNamed(name string, rows int64, columns ...model.Column) model.Variable {
	return model.Variable{Name: name, Kind: "variable", Type: "DataFrame", Columns: columns,
		Shape: []int64{rows, int64(len(columns))}}
}

// advice returns the candidates of all rules that would lower the highest moment by 4 MiB or more.
func advice(n *notebook.Notebook) (all []notebook.Candidate) {
	for _, rule := range []notebook.Rule{rowFunctions} {
		for _, c := range rule(n) {
			if n.Saves(c.Falls) >= 4*mib {
				all = append(all, c)
			}
		}
	}
	return all
}

// checkRows fails unless there is one candidate of a kind, with these edits: "In[N] line: text".
func checkRows(t *testing.T, n *notebook.Notebook, kind string, saves int64, edits ...string) {
	t.Helper()
	all := advice(n)
	if len(all) != 1 || all[0].Kind != kind {
		t.Fatalf("%d candidates, want one of kind %s: %+v", len(all), kind, all)
	}
	var texts []string
	for _, e := range all[0].Edits {
		texts = append(texts, e.Text)
	}
	if !slices.Equal(texts, edits) {
		t.Errorf("edits\n%s\nwant\n%s", strings.Join(texts, "\n--\n"), strings.Join(edits, "\n--\n"))
	}
	if got := n.Saves(all[0].Falls); got != saves {
		t.Errorf("it saves %.2f MiB, want %.2f", float64(got)/mib, float64(saves)/mib)
	}
	if all[0].Title == "" || strings.Contains(all[0].Title, "%!") {
		t.Errorf("title %q", all[0].Title)
	}
}

// noRows fails if there is a candidate.
func noRows(t *testing.T, n *notebook.Notebook) {
	t.Helper()
	for _, c := range advice(n) {
		t.Errorf("advice of kind %s, want none: %s %+v", c.Kind, c.Title, c.Edits)
	}
}

const pandas = "import pandas as pd\n"

const million = 1 << 20

func eight() model.Variable {
	return frameNamed("table", million, column("a", "float64", 8*million), column("b", "float64", 8*million),
		column("c", "float64", 8*million), column("d", "float64", 8*million))
}

func TestRowByRow(t *testing.T) {
	runs := []frameRun{{1, 2, 32 * mib, 132 * mib, 40 * mib, nil}}
	const cell = pandas + `table["e"] = table.apply(lambda r: r["a"] * (1 - r["b"]), axis=1)`
	checkRows(t, frameSession(t, []string{cell}, runs,
		eight()), "apply", 84*mib, `table["e"] = table["a"] * (1 - table["b"])`)
	for _, source := range []string{`table["e"] = table.apply(lambda r: f(r["a"]), axis=1)`,
		`table["e"] = table.apply(lambda r: r["a"] if r["b"] else 0, axis=1)`,
		`table["e"] = table.apply(lambda c: c["a"] * 2)`, `table["e"] = table.apply(lambda r: r["a"] + x, axis=1)`} {
		noRows(t, frameSession(t, []string{pandas + source}, runs, eight()))
	}
}
