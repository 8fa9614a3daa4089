package advice

import (
	"strings"
	"testing"

	"ipytracer/internal/advice/advicetest"
	"ipytracer/internal/advice/notebook"
	"ipytracer/model"
)

// ran is a cell, and what its statements did. Sizes are MiB.
type ran struct {
	source string
	lines  []line
}

// line is a run of the statement that begins on a line: the meter rose by rise, and was left higher by keeps.
type line struct {
	number      int
	rise, keeps int64
	blocks      []arrayBlocks
}

// arrayBlocks are arrays of one stack: the functions between them and the statement, the innermost first, each with its
// line in the same cell.
type arrayBlocks struct {
	made, kept, live, count int64
	calls                   []call
}

type call struct {
	function string
	line     int
}

// session returns a session of cells. Blocks that a step does not list stand.
func session(t *testing.T, variables []model.Variable, cells ...ran) *notebook.Notebook {
	t.Helper()
	var all []advicetest.Cell
	for i, c := range cells {
		cell := advicetest.Cell{Source: c.source, Partly: true}
		for _, l := range c.lines {
			step := advicetest.Step{Line: l.number, Peak: l.rise, End: l.keeps}
			for _, b := range l.blocks {
				one := advicetest.Blocks{Made: b.made, Kept: b.kept, Live: b.live, Count: b.count}
				for _, c := range b.calls {
					one.Calls = append(one.Calls, advicetest.Call{Function: c.function, Cell: i + 1, Line: c.line})
				}
				step.Blocks = append(step.Blocks, one)
			}
			cell.Steps = append(cell.Steps, step)
		}
		all = append(all, cell)
	}
	for i := range variables {
		variables[i].Kind, variables[i].Type = "variable", "numpy.ndarray"
	}
	return advicetest.Notebook(variables, all...)
}

// ndarray is an array of the end.
func ndarray(name, dtype string, shape ...int64) model.Variable {
	return model.Variable{Name: name, DType: dtype, Shape: shape}
}

// makes is a statement that makes one array and keeps it.
func makes(number int, size int64) line {
	return line{number, size, size, []arrayBlocks{{made: size, kept: size, live: size}}}
}

// patched returns the source of the cells with a candidate's edits.
func patched(n *notebook.Notebook, c notebook.Candidate) string {
	sources, _ := advicetest.Patched(n, c.Edits)
	return strings.Join(sources, "\n")
}

// checkArrays compares the best advice for a session: its kind, its saving in MiB, and the changed cell; "" for none.
func checkArrays(t *testing.T, n *notebook.Notebook, kind string, saves int64, source string) {
	t.Helper()
	var best *notebook.Candidate
	for _, c := range arrays(n) {
		if n.Saves(c.Falls) < 4*mib { // as Make does
			continue
		}
		if best == nil || n.Saves(c.Falls) > n.Saves(best.Falls) {
			best = &c
		}
	}
	switch {
	case best == nil && kind == "":
	case best == nil:
		t.Errorf("no advice, want %s", kind)
	case best.Kind != kind:
		t.Errorf("%s: %s, want %q", best.Kind, patched(n, *best), kind)
	default:
		if got := n.Saves(best.Falls) / mib; got != saves {
			t.Errorf("it saves %d MiB, want %d", got, saves)
		}
		if got := patched(n, *best); got != source {
			t.Errorf("the cell becomes\n%s\nwant\n%s", got, source)
		}
		if best.Title == "" || len(best.Changes) == 0 {
			t.Errorf("it says %q, %q", best.Title, best.Changes)
		}
	}
}
