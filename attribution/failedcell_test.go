package attribution

import (
	"testing"

	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/model"
)

// TestTracebackOfItsCell: the remaining traceback is named after the cell that it came from, also if that ran before
// the attach; if the cell is not known, it keeps its name. Files in a recording that are no cell's change nothing.
func TestTracebackOfItsCell(t *testing.T) {
	n := newNotebook()
	n.run("a", func() {})
	n.run("b", func() {})
	tracker := New()
	for _, e := range n.events {
		tracker.Add(e)
	}
	file := ""
	for key, runs := range tracker.Files.ByName {
		if w := runs[len(runs)-1]; w.Count > 0 && key.PID == main {
			file = key.File
			w.Status = model.Error
		}
	}
	if file == "" {
		t.Fatal("no cell has a file")
	}
	want := "traceback of " + windows.CountOf(tracker.Files.ByName[windows.FileKey{PID: main, File: file}][0])
	for _, test := range []struct {
		codes []event.Code
		want  string
	}{
		{nil, "the last traceback"},
		{[]event.Code{{File: "shell.py"}, {File: ""}}, "the last traceback"},
		{[]event.Code{{File: "shell.py"}, {File: file}, {File: "other", Input: 1}}, want},
		{[]event.Code{{File: "shell.py"}, {File: "/tmp/ipykernel_1/2.py", Input: 9}}, "traceback of In[9]"},
		{[]event.Code{{File: "x", Input: -5}}, "the last traceback"},
	} {
		e := &event.Variables{PID: main, Variables: []event.Variable{
			{Name: "x", Kind: event.HeldByVariable},
			{Name: "the last traceback", Kind: event.HeldByTraceback, Codes: test.codes},
		}}
		if got := WithCells(tracker, e).Variables[1].Name; got != test.want ||
			e.Variables[1].Name != "the last traceback" {
			t.Errorf("%+v: %q, want %q", test.codes, got, test.want)
		}
	}
	other := &event.Variables{PID: main + 1, Variables: []event.Variable{{Name: "the last traceback",
		Kind: event.HeldByTraceback, Codes: []event.Code{{File: file}}}}}
	if got := WithCells(tracker, other).Variables[0].Name; got != "the last traceback" {
		t.Errorf("another process's cell: %q", got)
	}
}
