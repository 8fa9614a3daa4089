package advice

import (
	"slices"
	"strings"
	"testing"

	"ipytracer/internal/advice/advicetest"
	"ipytracer/internal/advice/notebook"
	"ipytracer/model"
)

type (
	cell   = advicetest.Cell
	step   = advicetest.Step
	blocks = advicetest.Blocks
)

// shownSession returns a notebook of cells that ran one after another, with a variable of the end.
func shownSession(v model.Variable, cells ...cell) *notebook.Notebook {
	return advicetest.Notebook([]model.Variable{v}, cells...)
}

// checkOutput compares the only candidate with its kind, its line ("In[2] line 5"), its saving in MiB, and the source
// of the cells that it edits; kind "" for none.
func checkOutput(t *testing.T, n *notebook.Notebook, kind string, cell, line int, saves int64, want ...string) {
	t.Helper()
	var all []notebook.Candidate
	for _, rule := range []notebook.Rule{outputs} {
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
			n := shownSession(variable("output", "Out[2]", "numpy.ndarray", 68, 2, 1),
				cell{Source: first, Steps: []step{{Line: 1}, {Line: 2}}}, shown, work,
				cell{Source: of.later, Steps: []step{{Line: 1}}})
			if of.want == "" {
				checkOutput(t, n, "", 0, 0, 0)
				return
			}
			checkOutput(t, n, "output", 2, 1, of.saves, of.want)
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
	r := variable("output", "Out[2]", "DataFrame", 90, 1, 2)
	// In[3] stays as it is, at 210 MiB; In[4] was at 250.
	checkOutput(t, shownSession(r, cells...), "output", 2, 1, 40, "display(df.head())")
	cells[2].Source = "other = df[df.x > 0]"
	checkOutput(t, shownSession(r, cells...), "", 0, 0, 0)
}
