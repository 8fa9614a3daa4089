package attribution

import (
	"testing"

	"ipytracer/event"
	"ipytracer/internal/attributiontest"
	"ipytracer/model"
)

// twoKernels emits a session with a kernel and a child that is a kernel, too, each with an In[1] that allocates. early
// runs when the first is known, and before the second is.
func twoKernels(add func(event.Event), early func()) {
	const other = int32(5000)
	s := attributiontest.New(add, 1)
	s.Emit(&event.Process{ProcessInfo: event.ProcessInfo{PID: attributiontest.Kernel, Python: "3.11.2",
		IPython: "8.5.0", Inputs: 1, Notebook: "/home/ada/a/x.ipynb"}})
	run := func(pid int32, cell uint64, file string) {
		s.Boundary(event.Boundary{Kind: event.CellOpen, PID: pid, Cell: cell, Inputs: 2, File: file})
		stack := s.Stack(pid, event.Frame{Function: "f", File: file + "before.py", Line: 4, Input: 7},
			event.Frame{Function: "<module>", File: file, Line: 1})
		s.Make(pid, event.NumPy, 64<<20, stack)
		s.Boundary(event.Boundary{Kind: event.CellClose, PID: pid, Cell: cell, Outcome: event.OutcomeOK, Inputs: -1})
	}
	run(attributiontest.Kernel, 1, "<ipython-input-1-same>")
	early()
	s.Fork(attributiontest.Kernel, other)
	s.Exec(other, "python3 -m ipykernel")
	s.Emit(&event.Process{ProcessInfo: event.ProcessInfo{PID: other, Python: "3.11.2", IPython: "8.5.0", Inputs: 1,
		Notebook: "/home/ada/b/x.ipynb"}})
	run(other, 2, "<ipython-input-1-same>")
	s.End()
}

// TestKernelsHaveNames: as soon as a session has two kernels, every part of a report names its kernel: cells, the times
// between them, calls, verdicts. Calls of cells from before the session have their In[N], and the name.
func TestKernelsHaveNames(t *testing.T) {
	tr := New()
	twoKernels(tr.Add, func() {
		tr.Flush()
		if done := tr.Finished(); len(done) != 1 || done[0].Kernel != "" {
			t.Errorf("one kernel: %+v", done)
		}
	})
	tr.Flush()
	if done := tr.Finished(); len(done) != 1 || done[0].Kernel != "b/x.ipynb" {
		t.Errorf("two kernels: %+v", done)
	}
	r := tr.Report()
	names := map[int]string{int(attributiontest.Kernel): "a/x.ipynb", 5000: "b/x.ipynb"}
	for _, p := range r.Processes {
		if p.Kernel != names[p.PID] || p.Notebook != "/home/ada/"+p.Kernel {
			t.Errorf("pid %d: %q of %q", p.PID, p.Kernel, p.Notebook)
		}
	}
	cells := 0
	for _, w := range r.Windows {
		if w.Kernel != names[w.PID] {
			t.Errorf("%s of pid %d: %q", w.Kind, w.PID, w.Kernel)
		}
		if w.Kind != model.Cell {
			continue
		}
		cells++
		if len(w.Allocations) != 1 || len(w.Allocations[0].Stack) != 2 {
			t.Fatalf("%+v", w.Allocations)
		}
		for i, want := range []struct{ count, execution int }{{7, 0}, {1, w.Execution}} {
			f := w.Allocations[0].Stack[i]
			if f.Kernel != w.Kernel || f.ExecutionCount == nil || *f.ExecutionCount != want.count ||
				f.Execution != want.execution {
				t.Errorf("pid %d: %+v, want In[%d] of %s", w.PID, f, want.count, w.Kernel)
			}
		}
	}
	if cells != 2 {
		t.Errorf("%d cells", cells)
	}
	for _, b := range r.Between {
		if b.Kernel != names[b.PID] || b.After > 0 && b.Label != "after In[1] of "+names[b.PID] {
			t.Errorf("between: %+v", b)
		}
	}
	audit := NewAuditor()
	twoKernels(audit.Add, func() {})
	found := audit.Audit(1)
	for _, l := range found.Live {
		if l.Kernel != names[l.PID] {
			t.Errorf("live: %+v", l)
		}
	}
	if len(found.Live) < 2 {
		t.Errorf("live: %+v", found.Live)
	}
}

// TestOneKernelHasNoName: a single kernel is not named, as there is none to tell it apart from.
func TestOneKernelHasNoName(t *testing.T) {
	tr := New()
	s := attributiontest.New(tr.Add, 1)
	s.OpenCell(1, 0, "<ipython-input-1-same>", "x")
	s.Make(attributiontest.Kernel, event.NumPy, 64<<20,
		s.Stack(attributiontest.Kernel, event.Frame{Function: "<module>", File: "<ipython-input-1-same>", Line: 1}))
	s.CloseCell(1, event.OutcomeOK)
	s.End()
	r := tr.Report()
	for _, w := range r.Windows {
		for _, a := range w.Allocations {
			if w.Kernel != "" || a.Stack[0].Kernel != "" {
				t.Errorf("%s %q: %+v", w.Kind, w.Kernel, a.Stack)
			}
		}
	}
}
