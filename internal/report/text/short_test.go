package text_test

import (
	"fmt"
	"strings"
	"testing"

	"ipytracer/internal/report/reporttest"
	"ipytracer/internal/report/text"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// sixty returns a notebook of sixty cells of several lines, some with workers and with changes between them.
func sixty() *model.Report {
	r := reporttest.Rich()
	r.Windows = r.Windows[:1]
	r.Between = nil
	id := 10
	for i := range 60 {
		c := reporttest.CellWindow(id, i+1, "import library\nresult = model.fit(data)\nplot(result)")
		c.Meters = reporttest.All(
			reporttest.Fig(100*reporttest.MiB, 100*reporttest.MiB+int64(i+1)*reporttest.MiB, 101*reporttest.MiB),
			reporttest.Fig(100*reporttest.MiB, 200*reporttest.MiB, 200*reporttest.MiB),
			reporttest.Fig(0, int64(i)*reporttest.MiB, reporttest.MiB))
		allocating(&c, i)
		r.Windows = append(r.Windows, c)
		for line := range 3 {
			peak := 100*reporttest.MiB + int64(line)*int64(i+1)*reporttest.MiB/2
			r.Windows = append(r.Windows,
				reporttest.StatementWindow(id+1+line, id, line+1,
					reporttest.All(reporttest.Fig(100*reporttest.MiB, peak, 100*reporttest.MiB),
						reporttest.Fig(0, 0, 0), reporttest.Fig(0, 0, 0))))
		}
		r.Between = append(r.Between, model.Between{
			PID: 4242, After: id, Before: id + 10, Label: "between", DurationNS: reporttest.MS,
			Meters: reporttest.All(reporttest.Fig(100*reporttest.MiB, 100*reporttest.MiB+int64(i)*200*reporttest.KiB,
				100*reporttest.MiB), reporttest.Fig(0, 0, 0), reporttest.Fig(0, 0, 0)),
		})
		id += 10
	}
	return r
}

// allocating gives cell i the allocations of a library, and every tenth cell children.
func allocating(c *model.Window, i int) {
	stack := []model.Frame{
		{Function: "empty", File: "/usr/lib/python3/dist-packages/numpy/core/numeric.py", Line: 3},
		{Function: "validate.<locals>.wrapper", File: "/usr/lib/python3/dist-packages/sklearn/utils.py", Line: 3},
		{Function: "Forest.fit", File: "/usr/lib/python3/dist-packages/sklearn/forest.py", Line: 9},
		{
			Function: "<module>", File: fmt.Sprintf("/tmp/ipykernel_1/%d.py", i), Line: 2, Execution: i + 1,
			ExecutionCount: reporttest.Number(i + 1),
		},
	}
	for range 30 {
		c.Allocations = append(c.Allocations,
			model.Allocation{
				Meter: "cpu.numpy", Stack: stack, Allocated: reporttest.MiB, AtPeak: reporttest.MiB, Count: 1,
			},
			model.Allocation{
				Meter: "cpu.mapped", Stack: stack, Allocated: reporttest.MiB, AtPeak: reporttest.MiB, Count: 1,
			})
	}
	c.Coverage = map[string]model.Coverage{"cpu.numpy": {Exact: true}, "cpu.mapped": {Exact: true}}
	if i%10 == 0 {
		c.Tree = map[string]model.Figure{
			"cpu.resident": reporttest.Fig(100*reporttest.MiB, 700*reporttest.MiB, 101*reporttest.MiB),
		}
		c.Children = []model.Child{
			{
				PID: 71234567, Command: "python3 -m joblib.externals.loky.backend.popen_loky_posix --pipe 9",
				Meters: reporttest.All(reporttest.Fig(0, 600*reporttest.MiB, 0),
					reporttest.Fig(0, 600*reporttest.MiB, 0), reporttest.Fig(0, 0, 0)),
			},
			{
				PID: 71234568, Command: "python3 -m joblib.externals.loky.backend.popen_loky_posix --pipe 9",
				Meters: reporttest.All(reporttest.Fig(50*reporttest.MiB, 50*reporttest.MiB, 50*reporttest.MiB),
					reporttest.Fig(0, 0, 0), reporttest.Fig(0, 0, 0)),
			},
		}
	}
}

// TestSixtyCellsFit: a notebook of sixty cells takes 80 lines at most, on any terminal; the cells that need most with
// their children come first.
func TestSixtyCellsFit(t *testing.T) {
	for _, width := range []int{80, 120} {
		out := printed(t, sixty(), text.Options{Width: width})
		reporttest.Golden(t, fmt.Sprintf("sixty.%d.txt", width), []byte(out))
		if n := strings.Count(out, "\n"); n > 80 {
			t.Errorf("%d lines at %d", n, width)
		}
		for _, words := range []string{"In[1]", "71234567", "600.00 MiB", "more cells", "1 process that took less"} {
			if !strings.Contains(out, words) {
				t.Errorf("%q is missing at %d", words, width)
			}
		}
		if strings.Index(out, "In[51]") > strings.Index(out, "In[60]") {
			t.Error("a cell whose children need most is not ranked first")
		}
	}
	if n := strings.Count(printed(t, sixty(), text.Options{Full: true}), "\n"); n < 150 {
		t.Errorf("--full has %d lines", n)
	}
}

// TestMappedIsSaidOnce: mapped memory that arrays of the same lines fill is not listed beside them, and calls within
// one library are folded.
func TestMappedIsSaidOnce(t *testing.T) {
	out := printed(t, sixty(), text.Options{})
	_, who, _ := strings.Cut(out, "Who allocated")
	who, _, _ = strings.Cut(who, "\n\n")
	if strings.Contains(who, "mapped") || !strings.Contains(who, "30.00 MiB") ||
		!strings.Contains(who, "Forest.fit … 1 call in numpy") {
		t.Errorf("who allocated:\n%s", who)
	}
}

// TestBetweenIsRanked: a stretch between cells that needs more than they do comes before them.
func TestBetweenIsRanked(t *testing.T) {
	r := sixty()
	r.Between[6].Meters["cpu.resident"] = reporttest.Fig(100*reporttest.MiB, 5*reporttest.GiB, 100*reporttest.MiB)
	out := printed(t, r, text.Options{})
	if !strings.HasPrefix(out, "highest      5.00 of 23.00 GiB resident (21 %) between In[7] and In[8]") ||
		strings.Index(out, "after In[7]") > strings.Index(out, "\nIn[51]") {
		t.Errorf("the stretch after In[7] is not first:\n%s", out)
	}
}

// TestEqualCellsAreApart: cells with one label have their execution beside it.
func TestEqualCellsAreApart(t *testing.T) {
	r := sixty()
	for i := range r.Windows {
		if r.Windows[i].Execution == 51 || r.Windows[i].Execution == 41 {
			r.Windows[i].ExecutionCount = reporttest.Number(7)
		}
	}
	out := printed(t, r, text.Options{})
	if !strings.Contains(out, "In[7] (run 51)") || !strings.Contains(out, "In[7] (run 41)") ||
		strings.Contains(out, "In[31] (run") {
		t.Errorf("two cells In[7]:\n%s", out)
	}
}

// TestHeaderNamesTheKernel: under a program that starts the kernel, the header is of the process that ran cells.
func TestHeaderNamesTheKernel(t *testing.T) {
	r := sixty()
	r.Processes = append([]model.Process{{PID: 4000, Command: "jupyter nbconvert --execute", Python: "3.11.2"}},
		r.Processes...)
	r.Processes[1].Parent = 4000
	r.Processes[1].RestartOf = 4100
	for _, o := range []text.Options{{Width: 200}, {Width: 200, Full: true}} {
		if out := printed(t, r, o); !strings.Contains(out, "kernel      pid 4242") ||
			!strings.Contains(out, "started by pid 4000 · restart of pid 4100") {
			t.Errorf("full %v: header:\n%s", o.Full, out[:1500])
		}
	}
	out := printed(t, r, text.Options{})
	if !strings.Contains(out, "kernel      pid 4242") || !strings.Contains(out, "started by pid 4000") ||
		strings.Contains(out, "process     pid 4000") {
		t.Errorf("header:\n%s", out[:1500])
	}
}

// TestPlural is the one rule for counts and nouns.
func TestPlural(t *testing.T) {
	for want, got := range map[string]string{
		"1 cell": words.Plural(1, "cell"), "2 cells": words.Plural(2, "cell"),
		"3 processes": words.Plural(3, "process"), "0 stretches": words.Plural(0, "stretch"),
		"2 boundaries": words.Plural(2, "boundary"), "2 ways": words.Plural(2, "way"),
		"1,000 lines of code": words.Plural(1000, "line of code"), "1 line of code": words.Plural(1, "line of code"),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestLeadNamesWhatToDelete: if the names of the process are known, the first lines have them.
func TestLeadNamesWhatToDelete(t *testing.T) {
	r := sixty()
	for i := range r.Windows {
		if w := &r.Windows[i]; w.Kind == model.Cell {
			f := w.Meters["cpu.resident"]
			w.Meters["cpu.resident"] = reporttest.Fig(f.Start, f.Peak+600*reporttest.MiB, 601*reporttest.MiB)
		}
	}
	r.Variables = []model.Variable{
		{PID: 4242, Name: "small", Kind: "variable", Bytes: 4 * reporttest.KiB},
		{PID: 4242, Name: "frame", Kind: "variable", Bytes: 300 * reporttest.MiB},
		{PID: 4242, Name: "Out[7]", Kind: "output", Bytes: 20 * reporttest.MiB},
		{PID: 4242, Name: "model", Kind: "variable", Bytes: 100 * reporttest.MiB, Device: reporttest.GiB},
		{PID: 9, Name: "others", Kind: "variable", Bytes: reporttest.GiB},
		{PID: 4242, Name: "the last traceback", Kind: "traceback", Bytes: 9 * reporttest.MiB},
	}
	r.Variables[1].Execution, r.Variables[1].Line = 3, 1
	for i := range r.Variables {
		r.Variables[i].Exact = true
	}
	r.ToFree = []model.Freeing{
		{PID: 9, Type: "del others", Predicted: reporttest.GiB, Exact: true, Names: []string{"others"}},
		{
			PID: 4242, Type: "del frame, model", Predicted: 400 * reporttest.MiB, Exact: true,
			Names: []string{"frame", "model"},
		},
		{PID: 4242, Type: "%xdel _7", Predicted: 20 * reporttest.MiB, Names: []string{"Out[7]"}},
		{PID: 4242, Type: "import gc; gc.collect();", Predicted: 3 * reporttest.MiB, Exact: true, Names: []string{}},
	}
	r.Lines = []model.Line{
		{
			PID: 4242, Meter: "cpu.numpy",
			Frame: model.Frame{
				Function: "<module>", File: "3.py", Line: 1, Execution: 3, ExecutionCount: reporttest.Number(3),
			},
			Left: 300 * reporttest.MiB,
		},
		{
			PID: 4242, Meter: "cpu.numpy",
			Frame: model.Frame{
				Function: "<module>", File: "5.py", Line: 2, Execution: 5, ExecutionCount: reporttest.Number(5),
			},
			Left: 128 * reporttest.MiB,
		},
	}
	out := printed(t, falling(r), text.Options{Width: -1})
	for _, words := range []string{
		"attach: frame 300.00 MiB · 128.00 MiB numpy of In[5] line 2 · model 100.00 MiB · Out[7] 20.00 MiB · " +
			"9.00 MiB in 1 smaller part · 44.00 MiB not explained\n",
		"to free it   del frame, model (400.00 MiB) · %xdel _7 (≥ 20.00 MiB) · " +
			"and 3.00 MiB in 1 more (--full) → leaves at most 178.00 MiB · tracer audit --full says",
	} {
		if !strings.Contains(out, words) {
			t.Errorf("%q is missing in:\n%s", words, out[:1000])
		}
	}
}

// TestSharedNamesAreOneRow: memory that several names hold together is one row, and the names have rows of their own
// only with --full.
func TestSharedNamesAreOneRow(t *testing.T) {
	r := sixty()
	r.Variables = []model.Variable{
		{
			PID: 4242, Name: "big", Kind: "variable", Type: "dict", Bytes: 500 * reporttest.MiB,
			Reaches: 500 * reporttest.MiB, Exact: true,
		},
		{PID: 4242, Name: "df", Kind: "variable", Type: "DataFrame", Reaches: 183 * reporttest.MiB, Exact: true},
		{
			PID: 4242, Name: "Out[2]", Kind: "output", Type: "DataFrame", Bytes: 1 << 10, Reaches: 183 * reporttest.MiB,
			Exact: true,
		},
		{
			PID: 4242, Name: "linecache.cache", Kind: "module", Type: "dict", Bytes: 90 * reporttest.MiB,
			Reaches: 90 * reporttest.MiB, Exact: true,
		},
		{
			PID: 4242, Name: "library.cache", Kind: "module", Type: "dict", Bytes: 80 * reporttest.MiB,
			Reaches: 80 * reporttest.MiB, Exact: true,
		},
		{
			PID: 4242, Name: "small", Kind: "variable", Type: "list", Bytes: 4 * reporttest.MiB,
			Reaches: 4 * reporttest.MiB, Exact: true,
		},
		{PID: 4243, Name: "of_a_worker", Kind: "variable", Type: "list", Bytes: 400 * reporttest.MiB, Exact: true},
	}
	r.Names = []model.Names{{PID: 4242, Complete: true}}
	r.Processes = append(r.Processes, model.Process{PID: 4243, Parent: 4242})
	r.ToFree = []model.Freeing{
		{
			PID: 4242, Type: "del df; get_ipython().del_var('_2')", Predicted: 183 * reporttest.MiB,
			Names: []string{"df", "Out[2]"}, Shared: 183 * reporttest.MiB,
		},
	}
	_, out, _ := strings.Cut(printed(t, r, text.Options{Width: 160}), "Variables at the end")
	rows := strings.Split(out, "\n")
	if len(rows) < 6 || !strings.Contains(rows[2], "big") || !strings.Contains(rows[3], "≥ 183.00 MiB") ||
		!strings.Contains(rows[3], "df + Out[2]") || !strings.Contains(rows[4], "library.cache") ||
		!strings.Contains(rows[5], "… and 3 more names, with 494.00 MiB together") {
		t.Errorf("got\n%s", out)
	}
	_, out, _ = strings.Cut(printed(t, r, text.Options{Width: 160, Full: true}), "Variables at the end")
	for _, words := range []string{"df + Out[2]", "  df ", "  Out[2] ", "linecache.cache", "of_a_worker", "small"} {
		if !strings.Contains(out, words) {
			t.Errorf("--full lacks %q:\n%s", words, out)
		}
	}
}
