package notebook_test

import (
	"testing"

	"ipytracer/internal/advice/notebook"
	"ipytracer/internal/syntax"
	"ipytracer/model"
)

// TestLinesOfTimedCode: code that %time and %%time run is compiled apart, with lines that count from its beginning.
func TestLinesOfTimedCode(t *testing.T) {
	for _, of := range []struct {
		name, source string
		line         int // of the statement
		frame        model.Frame
		want         int // line of the innermost call in the cell
	}{
		{"a cell", "%%time\nx = 1\ny = f(x)", 1, model.Frame{Function: "<module>", File: "<timed exec>", Line: 2}, 3},
		{"a list", "%%time\nx = 1\ny = f(x)", 1, model.Frame{Function: "<listcomp>", File: "<timed eval>", Line: 1}, 2},
		{"a line", "x = 1\n%time y = f(x)", 2, model.Frame{Function: "<module>", File: "<timed exec>", Line: 1}, 2},
		{"a function of any cell", "%%time\nx = 1\ny = f(x)", 1,
			model.Frame{Function: "f", File: "<timed exec>", Line: 2}, 1},
		{"another file", "%%time\nx = 1\ny = f(x)", 1, model.Frame{Function: "<module>", File: "a.py", Line: 2}, 1},
		{"a line that is not there", "%%time\nx = f()", 1,
			model.Frame{Function: "<module>", File: "<timed exec>", Line: 9}, 1},
		{"not timed", "x = 1\ny = f(x)", 1, model.Frame{Function: "<module>", File: "<timed exec>", Line: 2}, 1},
	} {
		t.Run(of.name, func(t *testing.T) {
			stack := []model.Frame{of.frame, {Function: "ExecutionMagics.time", File: "execution.py", Line: 9},
				{Function: "<module>", File: "cell.py", Line: of.line, Execution: 1}}
			a := []model.Allocation{{Meter: "cpu.numpy", Allocated: 9 << 20, AtPeak: 9 << 20, Count: 1, Stack: stack}}
			meters := map[string]model.Figure{"cpu.resident": {Peak: 9 << 20}}
			one := 1
			n := notebook.Read(&model.Report{Windows: []model.Window{
				{ID: 1, Kind: model.Cell, PID: 7, Execution: 1, ExecutionCount: &one, Source: of.source, Meters: meters,
					Allocations: a},
				{ID: 2, Parent: 1, Kind: model.Statement, PID: 7, Line: of.line, Meters: meters, Allocations: a},
			}}, notebook.Options{Meter: "cpu.resident"})
			for site := range n.Peak.Live {
				if got := site.Innermost().Line; got != of.want || site.Statement == nil || site.Line != of.line {
					t.Errorf("line %d, want %d; %+v", got, of.want, site)
				}
			}
			if len(n.Peak.Live) != 1 || stack[0].Execution != 0 {
				t.Errorf("%d sites; %+v", len(n.Peak.Live), stack)
			}
		})
	}
}

// TestLinesBelowACellMagic: IPython runs the rest of a cell that begins with %%time as one.
func TestLinesBelowACellMagic(t *testing.T) {
	one := 1
	n := notebook.Read(&model.Report{Windows: []model.Window{
		{ID: 1, Kind: model.Cell, PID: 7, Execution: 1, ExecutionCount: &one, Source: "%%time\nx = 1\ny = x"},
		{ID: 2, Parent: 1, Kind: model.Statement, PID: 7, Line: 1},
	}}, notebook.Options{Meter: "cpu.resident"})
	m, ok := n.Statements[0].Node.(*syntax.Magic)
	if !ok || len(m.Body) != 2 || n.Statements[0].End() != 3 {
		t.Errorf("%+v", n.Statements[0])
	}
}
