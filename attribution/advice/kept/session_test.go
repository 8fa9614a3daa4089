package kept

import (
	"slices"
	"strings"
	"testing"

	"ipytracer/attribution/advice/evidence"
	"ipytracer/attribution/advice/syntax"
	"ipytracer/model"
)

const mib = 1 << 20

// ran is a cell that ran.
type ran struct {
	source     string
	failed     bool
	statements []step
}

// step is a statement that ran. Peak and end are of resident memory above its start.
type step struct {
	line      int
	peak, end int64 // MiB
	blocks    []blocks
	children  int64 // MiB, at its peak
}

// blocks were made by a statement at a line of a function; in is the number of the cell that has the function, 0 for
// the statement itself.
type blocks struct {
	function             string
	in, line             int
	made, kept, at       int64 // MiB
	count                int64
	file                 string // the innermost call is in it
	earlier, earlierLine int    // the statement that made them; 0 for this one
}

func (b blocks) allocation(cell, line int) model.Allocation {
	if b.earlier > 0 {
		cell, line = b.earlier, b.earlierLine
	}
	a := model.Allocation{Meter: "cpu.numpy", Allocated: b.made * mib, Net: b.kept * mib,
		Freed: (b.made - b.kept) * mib, AtPeak: b.at * mib, Count: b.count}
	if b.file != "" {
		a.Stack = append(a.Stack, model.Frame{Function: "draw", File: b.file, Line: 1})
	}
	if b.function != "" {
		a.Stack = append(a.Stack, model.Frame{Function: b.function, Execution: b.in, Line: b.line})
	}
	a.Stack = append(a.Stack, model.Frame{Function: "<module>", Execution: cell, Line: line})
	return a
}

// session returns a notebook of cells that ran one after another.
func session(t *testing.T, r model.Report, cells ...ran) *evidence.Notebook {
	t.Helper()
	const pid = 7
	now, id := int64(100), 1
	for i, c := range cells {
		number := i + 1
		cell := model.Window{ID: id, Kind: model.Cell, PID: pid, Execution: number, ExecutionCount: &number,
			Source: c.source, Status: model.OK, Coverage: map[string]model.Coverage{}}
		if c.failed {
			cell.Status = model.Error
		}
		id++
		start, peak, children := now, now, int64(0)
		var inner []model.Window
		for _, s := range c.statements {
			w := model.Window{ID: id, Parent: cell.ID, Kind: model.Statement, PID: pid, Line: s.line, Status: model.OK,
				Coverage: map[string]model.Coverage{}}
			id++
			w.Meters = meters(now, now+s.peak, now+s.end)
			w.Tree = meters(now+s.children, now+s.peak+s.children, now+s.end+s.children)
			for _, b := range s.blocks {
				w.Allocations = append(w.Allocations, b.allocation(number, s.line))
				w.Coverage["cpu.numpy"] = model.Coverage{}
			}
			cell.Allocations = append(cell.Allocations, w.Allocations...)
			peak, children = max(peak, now+s.peak), max(children, s.children)
			now += s.end
			inner = append(inner, w)
		}
		cell.Meters, cell.Tree = meters(start, peak, now), meters(start, peak+children, now)
		r.Windows = append(append(r.Windows, cell), inner...)
	}
	for i := range r.Variables {
		r.Variables[i].PID = pid
	}
	for i := range r.ToFree {
		r.ToFree[i].PID = pid
	}
	return evidence.Read(&r, evidence.Options{Meter: "cpu.resident", PID: pid, Parse: syntax.ParseCell})
}

func meters(start, peak, end int64) map[string]model.Figure {
	return map[string]model.Figure{"cpu.resident": {Start: start * mib, Peak: peak * mib, End: end * mib, Exact: true}}
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
	var got []string
	for _, cell := range n.Cells {
		var edits []model.AdviceEdit
		for _, e := range c.Edits {
			if e.Execution == cell.Window.Execution {
				edits = append(edits, e)
			}
		}
		if len(edits) == 0 {
			continue
		}
		text := strings.Join(evidence.Patched(cell.Lines, edits), "\n")
		if _, err := syntax.ParseCell(text); err != nil {
			t.Errorf("the edited cell does not parse: %v\n%s", err, text)
		}
		got = append(got, text)
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
