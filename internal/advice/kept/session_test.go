package kept

import (
	"slices"
	"strings"
	"testing"

	"ipytracer/internal/advice/advicetest"
	"ipytracer/internal/advice/evidence"
	"ipytracer/model"
)

const mib = advicetest.MiB

type (
	cell   = advicetest.Cell
	step   = advicetest.Step
	blocks = advicetest.Blocks
)

// session returns a notebook of cells that ran one after another, with a variable of the end.
func session(v model.Variable, cells ...cell) *evidence.Notebook {
	return advicetest.Notebook([]model.Variable{v}, cells...)
}

// check compares the only candidate with its kind, its line ("In[2] line 5"), its saving in MiB, and the source of the
// cells that it edits; kind "" for none.
func check(t *testing.T, n *evidence.Notebook, kind string, cell, line int, saves int64, want ...string) {
	t.Helper()
	var all []evidence.Candidate
	for _, rule := range Rules() {
		all = append(all, rule(n)...)
	}
	if kind == "" {
		for _, c := range all {
			t.Errorf("there is advice: %s", c.Title)
		}
		return
	}
	if len(all) != 1 {
		t.Fatalf("%d pieces of advice, want %s", len(all), kind)
	}
	c := all[0]
	if c.Kind != kind || *c.Cell.Window.ExecutionCount != cell || c.Line != line {
		t.Errorf("%s In[%d] line %d, want %s In[%d] line %d", c.Kind, *c.Cell.Window.ExecutionCount, c.Line, kind, cell,
			line)
	}
	if got := n.Saves(c.Falls); got != saves*mib {
		t.Errorf("saves %.2f MiB, want %d", float64(got)/mib, saves)
	}
	got, python := advicetest.Patched(n, c.Edits)
	if !python {
		t.Errorf("the edited cells do not parse:\n%s", strings.Join(got, "\n---\n"))
	}
	if !slices.Equal(got, want) {
		t.Errorf("edited:\n%s\nwant:\n%s", strings.Join(got, "\n---\n"), strings.Join(want, "\n---\n"))
	}
	if c.Title == "" || len(c.Changes) == 0 {
		t.Errorf("no title, or nothing about results: %+v", c)
	}
}

// variable is a name at the end, with its largest piece made by a line of a cell.
func variable(kind, name, of string, size int64, cell, line int) model.Variable {
	return model.Variable{Name: name, Kind: kind, Type: of, Bytes: size * mib, Reaches: size * mib, Exact: true,
		Execution: cell, Line: line}
}
