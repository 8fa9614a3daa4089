package arrays

import (
	"strings"
	"testing"

	"ipytracer/attribution/advice/evidence"
	"ipytracer/attribution/advice/syntax"
	"ipytracer/model"
)

const (
	mib  = 1 << 20
	base = 70 * mib
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
	blocks      []blocks
}

// blocks are arrays of one stack: the functions between them and the statement, the innermost first, each with its line
// in the same cell.
type blocks struct {
	made, kept, live, count int64
	calls                   []call
}

type call struct {
	function string
	line     int
}

// session returns a session of cells.
func session(t *testing.T, variables []model.Variable, cells ...ran) *evidence.Notebook {
	t.Helper()
	r := &model.Report{}
	level, id := int64(base), 1
	for i, c := range cells {
		input := i + 1
		cell := model.Window{ID: id, Kind: model.Cell, PID: 7, Execution: input, ExecutionCount: &input,
			Source: c.source, Coverage: partly()}
		id++
		var windows []model.Window
		start, peak := level, level
		for _, l := range c.lines {
			w := model.Window{ID: id, Parent: cell.ID, Kind: model.Statement, PID: 7, Line: l.number,
				Meters:   resident(level, level+l.rise*mib, level+l.keeps*mib),
				Coverage: partly()}
			id++
			for _, b := range l.blocks {
				w.Allocations = append(w.Allocations, allocation(input, l.number, b))
			}
			peak, level = max(peak, level+l.rise*mib), level+l.keeps*mib
			cell.Allocations = append(cell.Allocations, w.Allocations...)
			windows = append(windows, w)
		}
		cell.Meters = resident(start, peak, level)
		r.Windows = append(append(r.Windows, cell), windows...)
	}
	for _, v := range variables {
		v.PID, v.Kind, v.Type = 7, "variable", "numpy.ndarray"
		r.Variables = append(r.Variables, v)
	}
	return evidence.Read(r, evidence.Options{Meter: "cpu.resident", PID: 7, Parse: syntax.ParseCell})
}

func partly() map[string]model.Coverage {
	return map[string]model.Coverage{numpyMeter: {Unlisted: 1}}
}

func resident(start, peak, end int64) map[string]model.Figure {
	return map[string]model.Figure{"cpu.resident": {Start: start, Peak: peak, End: end}}
}

func allocation(execution, number int, b blocks) model.Allocation {
	a := model.Allocation{Meter: numpyMeter, Allocated: b.made * mib, Freed: (b.made - b.kept) * mib, Net: b.kept * mib,
		AtPeak: b.live * mib, Count: max(1, b.count)}
	for _, c := range b.calls {
		a.Stack = append(a.Stack, model.Frame{Function: c.function, Line: c.line, Execution: execution})
	}
	a.Stack = append(a.Stack, model.Frame{Function: "<module>", Line: number, Execution: execution})
	return a
}

// variable is an array of the end.
func variable(name, dtype string, shape ...int64) model.Variable {
	return model.Variable{Name: name, DType: dtype, Shape: shape}
}

// makes is a statement that makes one array and keeps it.
func makes(number int, size int64) line {
	return line{number, size, size, []blocks{{made: size, kept: size, live: size}}}
}

// patched returns the source of the cells with a candidate's edits.
func patched(n *evidence.Notebook, c evidence.Candidate) string {
	var all []string
	for _, cell := range n.Cells {
		var edits []model.AdviceEdit
		for _, e := range c.Edits {
			if e.Execution == cell.Window.Execution {
				edits = append(edits, e)
			}
		}
		if len(edits) > 0 {
			all = append(all, evidence.Patched(cell.Lines, edits)...)
		}
	}
	return strings.Join(all, "\n")
}

// check compares the best advice for a session: its kind, its saving in MiB, and the changed cell; "" for none.
func check(t *testing.T, n *evidence.Notebook, kind string, saves int64, source string) {
	t.Helper()
	var best *evidence.Candidate
	for _, c := range find(n) {
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
