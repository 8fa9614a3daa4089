package text_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/reporttest"
	"ipytracer/internal/report/sheet"
	"ipytracer/internal/report/text"
	"ipytracer/model"
)

// grown returns a session without a cell, of a kernel that had 448 MiB: what is left of it has names.
func grown() *model.Report {
	r := small(0)
	r.Windows = r.Windows[:1]
	r.Windows[0].Meters = reporttest.All(reporttest.Fig(448*mib, 448*mib, 448*mib),
		reporttest.Fig(500*mib, 500*mib, 500*mib), reporttest.Fig(0, 0, 0))
	r = left(r, 0, model.Variable{Name: "a", Kind: "variable", Bytes: 100 * mib},
		model.Variable{Name: "Out[5]", Kind: "output", Bytes: 30 * mib})
	r.ToFree = []model.Freeing{
		{PID: 4242, Names: []string{"a"}, Type: "del a", Predicted: 100 * mib, Exact: true},
		{PID: 4242, Names: []string{"Out[5]"}, Type: "%xdel _5", Predicted: 30 * mib, Exact: true},
	}
	return falling(r)
}

// TestNoCellRan: without a cell, too, the first lines say what a kernel has, what holds it, what to type and what that
// leaves, in one piece and in two, and the account of it is in the JSON.
func TestNoCellRan(t *testing.T) {
	const there = "448.00 MiB at the end, no more than at the attach: a 100.00 MiB · "
	const free = "del a (100.00 MiB) · %xdel _5 (30.00 MiB) → leaves 318.00 MiB"
	got := lines(t, grown(), text.Options{})
	if !strings.HasPrefix(got["still there"], there) || got["to free it"] != free {
		t.Errorf("%q", got)
	}
	first, err := text.First(grown(), text.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := text.Rest(&b, grown(), text.Options{}, first); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(first, "still there") ||
		!strings.HasPrefix(b.String(), "\nstill there  448.00 MiB at the end") || !strings.Contains(b.String(), free) {
		t.Errorf("first\n%s\nrest\n%s", first, b.String())
	}
	all := text.Accounts(grown())
	if len(all) != 1 || all[0].At != model.AtEnd || all[0].Bytes != 448*mib || all[0].Left() != 0 {
		t.Errorf("accounts: %+v", all)
	}
}

// TestNothingToType: no code for a process without cells, none where no name holds much, and no lines about a process
// that has ended.
func TestNothingToType(t *testing.T) {
	r := grown()
	r.Processes[0].IPython = ""
	if got := lines(t, r, text.Options{}); got["still there"] == "" || got["to free it"] != "" {
		t.Errorf("of a process without cells: %q", got)
	}
	r = grown()
	r.Variables, r.ToFree = nil, nil
	if got := lines(t, r, text.Options{})["to free it"]; !strings.HasPrefix(got, "no name of the notebook's") {
		t.Errorf("without names: %q", got)
	}
	r.Names = nil
	if got := lines(t, r, text.Options{})["to free it"]; !strings.HasPrefix(got, "what holds it is not known") {
		t.Errorf("without a look: %q", got)
	}
	r.Processes[0].Ended = true
	if got := lines(t, r, text.Options{}); got["still there"] != "" || text.Accounts(r) != nil {
		t.Errorf("of a process that has ended: %q", got)
	}
}

// TestNoEntryIsCut: entries that are not shown are summed up, --full shows all, and what is left is counted with all
// of them; a lower bound of what goes is an upper bound of what is left.
func TestNoEntryIsCut(t *testing.T) {
	r := grown()
	r.ToFree = nil
	for i := range 5 {
		r.ToFree = append(r.ToFree, model.Freeing{PID: 4242, Type: fmt.Sprintf("del x%d", i), Exact: true,
			Names: []string{"x"}, Predicted: int64(50-i) * mib})
	}
	got := lines(t, falling(r), text.Options{})["to free it"]
	if !strings.HasSuffix(got, "del x2 (48.00 MiB) · and 93.00 MiB in 2 more (--full) → leaves 208.00 MiB") {
		t.Errorf("to free it: %q", got)
	}
	full := lines(t, r, text.Options{Full: true})["to free it"]
	if !strings.HasSuffix(full, "del x3 (47.00 MiB) · del x4 (46.00 MiB) → leaves 208.00 MiB") {
		t.Errorf("to free it, in full: %q", full)
	}
	r.ToFree[4].Exact = false
	got = lines(t, r, text.Options{})["to free it"]
	if !strings.HasSuffix(got, "and ≥ 93.00 MiB in 2 more (--full) → leaves at most 208.00 MiB") {
		t.Errorf("to free it, with a lower bound: %q", got)
	}
	r.ToFree[1].Resident = nil
	got = lines(t, r, text.Options{})["to free it"]
	if !strings.Contains(got, "del x0 (50.00 MiB) · del x1 (objects of 49.00 MiB) · ") ||
		!strings.HasSuffix(got, " → by how much memory falls is not known") {
		t.Errorf("to free it, where nobody knows where the blocks of x1 lie: %q", got)
	}
}

// TestCodeIsNeverWrapped: code of an audit and of a report is in one piece on one line, at any width, also where it
// begins with the code of another entry.
func TestCodeIsNeverWrapped(t *testing.T) {
	long := "import sys, gc; sys.last_value = sys.last_traceback = sys.last_exc = get_ipython().InteractiveTB.tb = " +
		"get_ipython().last_execution_result = None; gc.collect();"
	r := grown()
	r.ToFree = []model.Freeing{
		{PID: 4242, Names: []string{"a"}, Type: "del a", Predicted: 100 * mib, Exact: true},
		{PID: 4242, Names: []string{"e"}, Type: long, Predicted: 44 * mib, Exact: true},
		{PID: 4242, Names: []string{"a"}, Type: "del a, b; import gc; gc.collect();", Predicted: 30 * mib, Exact: true},
	}
	audit := &model.Audit{ToFree: r.ToFree, Verdicts: []model.Verdict{
		{Kind: model.HeldByTraceback, Meter: "cpu.numpy", Fix: long, Bytes: mib, Stack: []model.Frame{}},
	}}
	for _, width := range []int{60, 80, 100, 120} {
		var b strings.Builder
		if err := sheet.Audit(audit, sheet.Options{}).Text(&b, doc.Size{Width: width}); err != nil {
			t.Fatal(err)
		}
		for _, out := range []string{printed(t, r, text.Options{Width: width, Full: true}), b.String()} {
			for _, f := range r.ToFree {
				if !slices.ContainsFunc(strings.Split(out, "\n"), func(line string) bool {
					return strings.Contains(line, f.Type)
				}) {
					t.Errorf("%q is in pieces at %d:\n%s", f.Type, width, out)
				}
			}
		}
		if strings.Count(b.String(), long) != 2 {
			t.Errorf("the verdict's code is in pieces at %d:\n%s", width, b.String())
		}
	}
}
