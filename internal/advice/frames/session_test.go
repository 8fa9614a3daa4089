package frames

import (
	"slices"
	"strings"
	"testing"

	"ipytracer/internal/advice/evidence"
	"ipytracer/internal/syntax"
	"ipytracer/model"
)

const mib = 1 << 20

// block is memory that one line of a cell allocated: by calls of these functions, of a file of pandas.
type block struct {
	cell, line int
	functions  string // innermost first, separated by <
	bytes      int64
	net        int64
}

// run is one statement of a session, by its cell and line.
type run struct {
	cell, line       int
	start, peak, end int64
	blocks           []block
}

// session returns what a session of cells shows. Statements without a run take no memory.
func session(t *testing.T, cells []string, runs []run, variables ...model.Variable) *evidence.Notebook {
	t.Helper()
	r := &model.Report{}
	for i, source := range cells {
		number := i + 1
		tree, err := syntax.ParseCell(source)
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
	return evidence.Read(r, evidence.Options{Meter: "cpu.resident", PID: 7, Parse: syntax.ParseCell})
}

// allocations returns blocks as a statement has them; those of other statements are only there, or go.
func allocations(cell, from, to int, blocks []block) (all []model.Allocation) {
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
func advice(n *evidence.Notebook) (all []evidence.Candidate) {
	for _, rule := range Rules() {
		for _, c := range rule(n) {
			if n.Saves(c.Falls) >= 4*mib {
				all = append(all, c)
			}
		}
	}
	return all
}

// one fails unless there is one candidate of a kind, with these edits: "In[N] line: text".
func one(t *testing.T, n *evidence.Notebook, kind string, saves int64, edits ...string) {
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

// none fails if there is a candidate.
func none(t *testing.T, n *evidence.Notebook) {
	t.Helper()
	for _, c := range advice(n) {
		t.Errorf("advice of kind %s, want none: %s %+v", c.Kind, c.Title, c.Edits)
	}
}
