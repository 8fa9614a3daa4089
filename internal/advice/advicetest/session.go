// Package advicetest makes sessions by hand, for tests of rules of advice.
package advicetest

import (
	"cmp"
	"strings"

	"ipytracer/internal/advice/notebook"
	"ipytracer/internal/syntax"
	"ipytracer/model"
)

// MiB is the unit of all sizes here.
const MiB = 1 << 20

// PID is the only process of a session.
const PID = 7

// Cell is a cell that ran. The cells of a session are In[1], In[2] …
type Cell struct {
	Source string
	Steps  []Step
	Partly bool // the windows of the cell list only some of the blocks that live
}

// Step is a run of the statement that begins on a line. It takes a second.
type Step struct {
	Line   int
	Peak   int64 // by how much resident memory rose at most
	End    int64 // by how much resident memory was higher after the step
	Blocks []Blocks
}

// Blocks are the blocks of one stack.
type Blocks struct {
	Made  int64  // allocated in the step
	Kept  int64  // the part of Made that outlived the step
	Live  int64  // lived at the step's peak
	Count int64  // the number of blocks; 0 stands for 1
	Calls []Call // between the statement and the allocation, the innermost first
	Meter string // "" stands for "cpu.numpy"
	// Cell and Line are the statement that called; 0 for the statement of the step.
	Cell, Line int
}

// Call is a call of a function that a cell defines, or that is in a file.
type Call struct {
	Function   string
	Cell, Line int
	File       string
}

// Makes returns a step that makes one array on a line and keeps it.
func Makes(line int, size int64) Step {
	return Step{Line: line, Peak: size, End: size, Blocks: []Blocks{{Made: size, Kept: size, Live: size}}}
}

// Needs returns a step that needs memory for a while, in the presence of the arrays of earlier statements.
func Needs(line int, size int64, earlier ...Blocks) Step {
	return Step{Line: line, Peak: size, Blocks: append([]Blocks{{Made: size, Live: size}}, earlier...)}
}

// Still returns an array that a statement of an earlier cell made, and that still lives.
func Still(cell, line int, size int64) Blocks { return Blocks{Live: size, Cell: cell, Line: line} }

const second = 1_000_000_000 // the duration of each step, in nanoseconds

// Report returns a session in which resident memory was 100 MiB before the first cell. variables are the variables at
// the session's end.
func Report(variables []model.Variable, cells ...Cell) *model.Report {
	r := &model.Report{Processes: []model.Process{{PID: PID, Notebook: "/home/ada/n.ipynb"}},
		Certificate: model.Certificate{Complete: true}}
	level, id, now := int64(100), 1, int64(0)
	for i, c := range cells {
		number := i + 1
		cell := model.Window{ID: id, Kind: model.Cell, PID: PID, Execution: number, ExecutionCount: &number,
			Source: c.Source, Status: model.OK, Coverage: map[string]model.Coverage{},
			StartNS: now, DurationNS: int64(len(c.Steps)) * second}
		if c.Partly {
			cell.Coverage["cpu.numpy"] = model.Coverage{Unlisted: 1}
		}
		id++
		start, peak := level, level
		var inner []model.Window
		for _, s := range c.Steps {
			w := model.Window{ID: id, Parent: cell.ID, Kind: model.Statement, PID: PID, Line: s.Line, Status: model.OK,
				Meters: meters(level, level+s.Peak, level+s.End), Coverage: map[string]model.Coverage{},
				StartNS: now, DurationNS: second}
			id++
			now += second
			for _, b := range s.Blocks {
				w.Allocations = append(w.Allocations, b.allocation(number, s.Line))
				w.Coverage[cmp.Or(b.Meter, "cpu.numpy")] = model.Coverage{}
			}
			if c.Partly {
				w.Coverage["cpu.numpy"] = model.Coverage{Unlisted: 1}
			}
			cell.Allocations = append(cell.Allocations, w.Allocations...)
			peak = max(peak, level+s.Peak)
			level += s.End
			inner = append(inner, w)
		}
		cell.Meters = meters(start, peak, level)
		r.Windows = append(append(r.Windows, cell), inner...)
	}
	for _, v := range variables {
		v.PID = PID
		r.Variables = append(r.Variables, v)
	}
	return r
}

// Notebook reads a session that [Report] makes.
func Notebook(variables []model.Variable, cells ...Cell) *notebook.Notebook {
	return notebook.Read(Report(variables, cells...),
		notebook.Options{Meter: "cpu.resident"})
}

func meters(start, peak, end int64) map[string]model.Figure {
	return map[string]model.Figure{"cpu.resident": {Start: start * MiB, Peak: peak * MiB, End: end * MiB, Exact: true}}
}

func (b Blocks) allocation(cell, line int) model.Allocation {
	a := model.Allocation{Meter: cmp.Or(b.Meter, "cpu.numpy"), Allocated: b.Made * MiB, Net: b.Kept * MiB,
		Freed: (b.Made - b.Kept) * MiB, AtPeak: b.Live * MiB, Count: max(1, b.Count)}
	if b.Made == 0 {
		a.Count = 0
	}
	for _, c := range b.Calls {
		a.Stack = append(a.Stack, model.Frame{Function: c.Function, Execution: c.Cell, Line: c.Line, File: c.File})
	}
	if b.Cell > 0 {
		cell, line = b.Cell, b.Line
	}
	a.Stack = append(a.Stack, model.Frame{Function: "<module>", Execution: cell, Line: line})
	return a
}

// Variable returns a variable at the session's end that is the only holder of memory. A line of a cell allocated it.
func Variable(name string, size int64, cell, line int) model.Variable {
	return model.Variable{Name: name, Kind: "variable", Type: "numpy.ndarray", Bytes: size * MiB, Reaches: size * MiB,
		Exact: true, Execution: cell, Line: line}
}

// Patched applies edits. It returns the new sources of the edited cells, and whether all of them are valid Python.
func Patched(n *notebook.Notebook, edits []model.AdviceEdit) (sources []string, isPython bool) {
	isPython = true
	for _, cell := range n.Cells {
		var ofCell []model.AdviceEdit
		for _, e := range edits {
			if e.Execution == cell.Window.Execution {
				ofCell = append(ofCell, e)
			}
		}
		if len(ofCell) == 0 {
			continue
		}
		text := strings.Join(Lines(cell.Lines, ofCell), "\n")
		_, err := syntax.Parse(text)
		isPython = isPython && err == nil
		sources = append(sources, text)
	}
	return sources, isPython
}

// Lines applies edits to the lines of a cell. The edits must be in order and must not overlap.
func Lines(lines []string, edits []model.AdviceEdit) []string {
	var out []string
	at := 1
	for _, e := range edits { // in order of lines
		for ; at < e.StartLine && at <= len(lines); at++ {
			out = append(out, lines[at-1])
		}
		if !e.Delete {
			out = append(out, strings.Split(e.Text, "\n")...)
		}
		at = max(at, e.EndLine+1)
	}
	for ; at <= len(lines); at++ {
		out = append(out, lines[at-1])
	}
	return out
}
