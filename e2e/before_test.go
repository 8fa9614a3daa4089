package e2e

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// TestCellsFromBeforeTheAttach: functions that cells have defined before the attach allocate afterwards. They have the
// name of their cell, In[N], and the typed lines, also in a recording. A function from a cell without a number has no
// name. Once a cell with the same text runs, they belong to that cell.
func TestCellsFromBeforeTheAttach(t *testing.T) {
	together(t)
	onPythons(t, "run_before.py", oldestAndNewest, func(t *testing.T, p place) {
		for _, front := range []string{"kernel", "terminal"} {
			t.Run(front, func(t *testing.T) {
				p := p
				if front == "terminal" {
					p.extra = []string{"--terminal"}
				}
				checkBefore(t, p)
			})
		}
	})
}

func checkBefore(t *testing.T, p place) {
	t.Helper()
	recorded := filepath.Join(t.TempDir(), "before.arrows")
	w, results, r := tracedWorkload(t, p, "--budget", "off", "--record", recorded)
	checkCertificate(t, r)
	made := func(size int64) string { return stackOf(r, "cpu.numpy", size) }
	count := func(i int) int { return *results[i].ExecutionCount }
	line := 3 // of the return in make
	if p.extra == nil {
		line = 5 // two blank lines are in front of it
	}
	first, again := count(0)-4, count(0)-2 // the silent cell of a kernel is within a cell that has a number
	use := fmt.Sprintf("In[%d] line 1 › In[%d] line 2 again › In[%d] line %d make", count(0), again, first, line)
	if got := made(10_000_001); got != use {
		t.Errorf("use: %q, want %q", got, use)
	}
	if got := made(20_000_002); !strings.HasPrefix(got, fmt.Sprintf("In[%d] line 1 › ", count(1))) ||
		strings.Count(got, "In[") != 1 {
		t.Errorf("a cell without a number: %q", got)
	}
	anew := fmt.Sprintf("In[%d] line 1 › In[%d] line 2 again › In[%d] line %d make", count(3), again, count(2), line)
	if got := made(40_000_001); got != anew {
		t.Errorf("anew: %q, want %q", got, anew)
	}
	for _, w := range topCells(r, w.pid) {
		for _, a := range w.Allocations {
			for _, f := range a.Stack {
				if f.Execution == 0 && f.ExecutionCount != nil && *f.ExecutionCount >= count(0) {
					t.Errorf("%q: %+v is no cell from before the attach", w.Source, f)
				}
			}
		}
	}
	text, err := exec.Command(binary, "report", recorded).Output()
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("In[%d] line 1 › In[%d] line 2 again › In[%d] line %d make", count(0), again, first,
		line); !strings.Contains(string(text), want) {
		t.Errorf("the recording does not say %q:\n%s", want, text)
	}
}

// stackOf returns the stack that allocated a block of a size, the outermost call first, without calls in libraries; ""
// if there is none.
func stackOf(r *model.Report, meter string, size int64) string {
	for _, w := range r.Windows {
		for _, a := range w.Allocations {
			if w.Kind != model.Cell || a.Meter != meter || a.Allocated != size {
				continue
			}
			return callsOf(a.Stack)
		}
	}
	return ""
}

// callsOf returns the calls of a stack, the outermost first, without those in libraries.
func callsOf(stack []model.Frame) string {
	var calls []string
	for _, f := range slices.Backward(stack) {
		if model.IsLibrary(f.File) || f.Native {
			continue
		}
		where := words.FrameCell(&f)
		if where == "" {
			where = f.File
		}
		call := fmt.Sprintf("%s line %d", where, f.Line)
		if f.Function != "<module>" {
			call += " " + f.Function
		}
		calls = append(calls, call)
	}
	return strings.Join(calls, " › ")
}
