package compare_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ipytracer/internal/compare"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// changes returns the change of each cell: "In[1] same".
func changes(d *model.Diff) (out []string) {
	for i := range d.Cells {
		out = append(out, words.Row(&d.Cells[i])+" "+d.Cells[i].Change)
	}
	return out
}

func sources(all ...string) *model.Report {
	var cells []one
	for _, s := range all {
		cells = append(cells, one{source: s})
	}
	return session(cells...)
}

func TestCellsAreMatchedBySource(t *testing.T) {
	for _, c := range []struct {
		name string
		a, b []string
		want string
	}{
		{"same", []string{"import numpy", "x = 1"}, []string{"import numpy", "x = 1"}, "In[1] same, In[2] same"},
		{"white space", []string{"x = 1\ny = 2"}, []string{"x = 1   \r\n\r\ny = 2\n\n"}, "In[1] same"},
		{"indentation matters", []string{"if a:\n    b()\n    c()"}, []string{"if a:\n    b()\nc()"}, "In[1] edited"},
		{"new", []string{"import numpy", "x = 1"}, []string{"import numpy", "model.fit(rows)", "x = 1"},
			"In[1] same, In[2] new, In[2] → In[3] same"},
		{"gone", []string{"import numpy", "model.fit(rows)", "x = 1"}, []string{"import numpy", "x = 1"},
			"In[1] same, In[2] gone, In[3] → In[2] same"},
		{"edited", []string{"import numpy", "x = np.ones(100)", "y = 2"},
			[]string{"import numpy", "x = np.ones(200)", "y = 2"}, "In[1] same, In[2] edited, In[3] same"},
		{"another cell in its place", []string{"import numpy", "x = np.ones(100)", "y"},
			[]string{"import numpy", "frame.groupby('a').mean().plot()", "y"},
			"In[1] same, In[2] new, In[2] gone, In[3] same"},
		{"moved", []string{"import numpy", "draw(1)", "load(2, 3)", "z"},
			[]string{"import numpy", "load(2, 3)", "z", "draw(1)"},
			"In[1] same, In[3] → In[2] same, In[4] → In[3] same, In[2] → In[4] moved"},
		{"run again", []string{"step()"}, []string{"step()", "step()", "step()"}, "In[1] same, In[2] new, In[3] new"},
		{"edited beside new", []string{"import numpy", "x = np.ones(100)"},
			[]string{"import numpy", "print('completely, other')", "x = np.ones(200)"},
			"In[1] same, In[2] new, In[2] → In[3] edited"},
		{"nothing", nil, nil, ""},
		{"all gone", []string{"a"}, nil, "In[1] gone"},
	} {
		if got := strings.Join(changes(diff(t, sources(c.a...), sources(c.b...), "")), ", "); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestEveryCellIsThereOnce checks that each run of a cell of any two sessions is in one row.
func TestEveryCellIsThereOnce(t *testing.T) {
	var a, b []string
	for i := range 300 {
		a = append(a, fmt.Sprintf("step(%d)", i*i%17))
		b = append(b, fmt.Sprintf("step(%d)", i*7%23), fmt.Sprintf("draw(%d, axes)", i%5))
	}
	d := diff(t, sources(a...), sources(b...), "")
	seenA, seenB := map[int]int{}, map[int]int{}
	for i := range d.Cells {
		row := &d.Cells[i]
		if row.A != nil {
			seenA[row.A.Execution]++
		}
		if row.B != nil {
			seenB[row.B.Execution]++
		}
		if row.Change == model.Same && row.A.Source != row.B.Source {
			t.Errorf("%q is called the same as %q", row.A.Source, row.B.Source)
		}
	}
	if len(seenA) != 300 || len(seenB) != 600 {
		t.Errorf("%d and %d cells, want 300 and 600", len(seenA), len(seenB))
	}
	for _, seen := range []map[int]int{seenA, seenB} {
		for execution, n := range seen {
			if n != 1 {
				t.Errorf("run %d is in %d rows", execution, n)
			}
		}
	}
}

// TestTheFirstCauseIsNamed checks that the edited cell is the cause, and the cell that is higher because of it a
// consequence.
func TestTheFirstCauseIsNamed(t *testing.T) {
	a := session(one{source: "import numpy"},
		one{source: "keep = np.ones(10)", needs: 10, keeps: 10, lines: []model.Allocation{made(2, 1, "<module>", 10)}},
		one{source: "y = work(keep)", needs: 50})
	b := session(one{source: "import numpy"},
		one{source: "keep = np.ones(500)", needs: 500, keeps: 500,
			lines: []model.Allocation{made(2, 1, "<module>", 500)}}, one{source: "y = work(keep)", needs: 50})
	d := diff(t, a, b, "")
	if len(d.Causes) != 1 || d.Causes[0].Cell != 1 || !d.Causes[0].Edited || d.Causes[0].Bytes != 490*mib {
		t.Fatalf("causes %+v", d.Causes)
	}
	if last := d.Cells[2]; !last.Consequence || last.Why != words.WhyConsequence || last.Meters[0].Peak != 490*mib ||
		last.Meters[0].Need != 0 {
		t.Errorf("the last cell: %+v", last)
	}
	lines := d.Cells[1].Lines
	if len(lines) != 1 || lines[0].Change != 490*mib || lines[0].Cell != 1 || lines[0].Source != "keep = np.ones(500)" {
		t.Errorf("lines %+v", lines)
	}
	if w := d.Whole[0]; *w.PeakA != 2 || *w.PeakB != 2 || w.Meters[0].Peak != 490*mib {
		t.Errorf("whole %+v", w)
	}
}

// TestALineOfAnEditedCell checks a function that was edited and needs more where it is called; the caller's source is
// the same.
func TestALineOfAnEditedCell(t *testing.T) {
	a := session(one{source: "def f():\n    return np.ones(1)"}, one{source: "other()", needs: 300},
		one{source: "f()", needs: 10, lines: []model.Allocation{made(1, 2, "f", 10)}})
	b := session(one{source: "def f():\n    log()\n    return np.ones(2)"}, one{source: "other()", needs: 5},
		one{source: "f()", needs: 80, lines: []model.Allocation{made(1, 3, "f", 80)}})
	d := diff(t, a, b, "")
	if len(d.Causes) != 2 || d.Causes[0].Cell != 0 || !d.Causes[0].Edited || d.Causes[0].Bytes != 0 {
		t.Fatalf("causes %+v", d.Causes)
	}
	if f := d.Causes[0].Follows; len(f) != 1 || f[0].Cell != 2 || f[0].Bytes != 70*mib ||
		!strings.Contains(f[0].Why, "of In[1], which was edited in lines 2 to 3") {
		t.Fatalf("what follows: %+v", f)
	}
	if l := d.Cells[2].Lines; len(l) != 1 || l[0].A != 10*mib || l[0].B != 80*mib || l[0].Cell != 0 {
		t.Errorf("lines %+v", l)
	}
	if d.Causes[1].Edited || d.Causes[1].Bytes != -295*mib {
		t.Errorf("second cause %+v", d.Causes[1])
	}
}

// TestLinesOfFiles checks that lines of files are distinguished by file, function and line, and not by the folder where
// a package is installed.
func TestLinesOfFiles(t *testing.T) {
	at := func(folder string, line int, bytes int64) []model.Allocation {
		return []model.Allocation{{Meter: "cpu.numpy", Allocated: bytes * mib, AtPeak: bytes * mib,
			Stack: []model.Frame{{Function: "load", File: folder + "/site-packages/data/io.py", Line: line}}}}
	}
	a := session(one{source: "load()", needs: 10, lines: at("/venv/one/lib/python3.11", 7, 10)})
	b := session(one{source: "load()", needs: 90, lines: at("/home/x/lib/python3.13", 9, 90)})
	l := diff(t, a, b, "").Cells[0].Lines
	if len(l) != 1 || l[0].File != "data/io.py" || l[0].Line != 9 || l[0].Change != 80*mib || l[0].Cell != -1 {
		t.Errorf("lines %+v", l)
	}
}

func TestUnknownMeter(t *testing.T) {
	var unknown *compare.UnknownMeterError
	_, err := compare.Runs(compare.Read("a", sources("x")), compare.Read("b", sources("x")),
		compare.Options{Meters: []string{"gpu.3.active"}})
	if !errors.As(err, &unknown) || !slices.Contains(unknown.Known, "cpu.resident") {
		t.Errorf("%v", err)
	}
}

// TestTwoKernels checks that each kernel is compared with the one that ran the same cells.
func TestTwoKernels(t *testing.T) {
	kernel := func(pid int) func(*model.Window) { return func(w *model.Window) { w.PID = pid } }
	a := session(one{source: "a1", change: kernel(7)}, one{source: "b1", change: kernel(8)},
		one{source: "a2", change: kernel(7)}, one{source: "b2", change: kernel(8)})
	b := session(one{source: "b1", change: kernel(20)}, one{source: "b2", change: kernel(20)},
		one{source: "a1", change: kernel(21)}, one{source: "a2", change: kernel(21)})
	for i := range diff(t, a, b, "").Cells {
		if row := diff(t, a, b, "").Cells[i]; row.Change != model.Same || row.A.Source != row.B.Source {
			t.Errorf("%+v", row)
		}
	}
}

func TestDoubts(t *testing.T) {
	a := session(one{source: "x", needs: 5}, one{source: "y"})
	b := session(one{source: "x", needs: 5, change: func(w *model.Window) { w.Status = model.Error }},
		one{source: "y", change: func(w *model.Window) {
			f := w.Meters["cpu.resident"]
			f.Exact, f.Bound = false, nil
			w.Meters["cpu.resident"] = f
		}})
	b.Host.Kernel, b.Processes[0].Python = "5.4", "3.13.0"
	b.Certificate.Finished, b.Processes[0].Late = "recording cut", true
	b.Certificate.Incomplete = []string{"3 cells have no window"}
	b.Meters = append(b.Meters, model.Meter{ID: "gpu.0.driver"})
	all := strings.Join(diff(t, a, b, "").Doubts, "\n")
	for _, want := range []string{"B was cut", "3 cells have no window", "Python: 3.11.2 in A, 3.13.0 in B",
		"Linux: 6.18 in A, 5.4 in B", "resident is not exact in 1 cell", "in B only: GPU 0 driver",
		"In[1] ended with ok in A and with error in B", "ran already"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not among the doubts:\n%s", want, all)
		}
	}
	if got := diff(t, a, session(one{source: "x", needs: 5}, one{source: "y"}), "").Doubts; len(got) != 0 {
		t.Errorf("doubts about the same: %q", got)
	}
	bare := sources("", "")
	if d := diff(t, bare, bare, ""); !strings.Contains(strings.Join(d.Doubts, "\n"), "without source") {
		t.Errorf("%q", d.Doubts)
	}
}
