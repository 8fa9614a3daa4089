package text_test

import (
	"slices"
	"strings"
	"testing"

	"ipytracer/internal/report/reporttest"
	"ipytracer/internal/report/text"
	"ipytracer/model"
)

// left adds the results of a look at the process.
func left(r *model.Report, trim int64, all ...model.Variable) *model.Report {
	for i := range all {
		all[i].PID, all[i].Exact = 4242, true
	}
	r.Variables, r.Names = all, []model.Names{{PID: 4242, Complete: true}}
	r.Resident = []model.Resident{{PID: 4242, Total: 528 * mib, Trim: trim, Complete: true, Parts: []model.ResidentPart{
		{Kind: "malloc-free", Bytes: trim + mib}, {Kind: "objects", Bytes: 90 * mib}, {Kind: "files", Bytes: 60 * mib},
		{Kind: "stack", Bytes: mib}, {Kind: "libraries", Bytes: 2 * mib},
	}}}
	return r
}

// TestStillThere: memory from before the attach is mentioned separately, without advice to free it.
func TestStillThere(t *testing.T) {
	got := lines(t, left(small(400*mib), 0, model.Variable{Name: "x", Kind: "variable", Bytes: 390 * mib}),
		text.Options{})
	want := "528.00 MiB after the last cell, 460.00 MiB more than at the attach: x 390.00 MiB · " +
		"60.00 MiB pages of files: the code of libraries, mapped data · 4.00 MiB in 3 smaller parts · " +
		"74.00 MiB not explained"
	if got["still there"] != want {
		t.Errorf("still there: %q, want %q", got["still there"], want)
	}
	out := left(small(400*mib), 0)
	out.Resident[0].Swapped = 9 * mib
	there := lines(t, out, text.Options{})["still there"]
	if !strings.Contains(there, "attach, and 9.00 MiB swapped out: ") {
		t.Errorf("with swap: %q", there)
	}
	r := small(10 * mib)
	for i := range r.Windows {
		r.Windows[i].Meters["cpu.resident"] = reporttest.Fig(68*mib, 100*mib, 68*mib+8*reporttest.KiB)
	}
	got = lines(t, r, text.Options{})
	if want := "68.01 MiB after the last cell, no more than at the attach"; got["still there"] != want ||
		got["to free it"] != "" {
		t.Errorf("still there %q, to free it %q", got["still there"], got["to free it"])
	}
	r.Processes[0].Late = false
	if got := lines(t, r, text.Options{}); got["still there"] != "68.01 MiB after the last cell" ||
		got["to free it"] == "" {
		t.Errorf("of a process that the tracer started: %q", got)
	}
}

// TestNeverTouched: a line whose memory a name holds has none of what was never touched, also if the name is too small
// to be mentioned.
func TestNeverTouched(t *testing.T) {
	r := left(small(400*mib), 0, model.Variable{Name: "x", Kind: "variable", Bytes: 190 * mib},
		model.Variable{Name: "room", Kind: "variable", Bytes: 3000 * mib, Resident: new(int64(4 * reporttest.KiB)),
			Execution: 2, Line: 2})
	line := model.Frame{Function: "<module>", File: "2.py", Line: 2, Execution: 2, ExecutionCount: reporttest.Number(2)}
	r.Lines = []model.Line{{PID: 4242, Meter: "cpu.numpy", Left: 3000*mib + 64*reporttest.KiB, Frame: line}}
	r.ToFree = []model.Freeing{{PID: 4242, Names: []string{"x"}, Type: "del x", Predicted: 190 * mib, Exact: true}}
	got := lines(t, falling(r), text.Options{})
	if strings.Contains(got["still there"], "In[2]") || got["to free it"] != "del x (190.00 MiB) → leaves 338.00 MiB" {
		t.Errorf("%q", got)
	}
	r.Lines[0].Left += 50 * mib
	if got := lines(t, r, text.Options{})["still there"]; !strings.Contains(got, "50.07 MiB numpy of In[2] line 2") {
		t.Errorf("still there: %q", got)
	}
}

// TestCachesAreNoAdvice: a cache of the interpreter or of IPython is not named for deletion. Without large names and
// lines, the report names the kind of memory, and recommends no audit, which would not know more.
func TestCachesAreNoAdvice(t *testing.T) {
	r := left(small(400*mib), 0, model.Variable{Name: "linecache.cache", Kind: "module", Bytes: 20 * mib},
		model.Variable{Name: "IPython.core.oinspect._cache", Kind: "module", Bytes: 9 * mib})
	got := lines(t, r, text.Options{})
	if all := got["still there"] + got["to free it"]; strings.Contains(all, "cache") || strings.Contains(all, "audit") {
		t.Errorf("%q", got)
	}
	if want := "90.00 MiB of other objects"; !strings.Contains(got["still there"], want) {
		t.Errorf("still there: %q, want %q in it", got["still there"], want)
	}
	r = left(small(400*mib), 0, model.Variable{Name: "mine.cache", Kind: "module", Bytes: 20 * mib},
		model.Variable{Name: "re", Kind: "variable", Bytes: 9 * mib})
	stays := lines(t, r, text.Options{})["still there"]
	if !strings.Contains(stays, ": mine.cache 20.00 MiB · ") {
		t.Errorf("still there: %q", stays)
	}
}

// TestMallocKeeps: malloc's free memory has its sentence, with code in one piece at any width.
func TestMallocKeeps(t *testing.T) {
	const code = "import ctypes; ctypes.CDLL(None).malloc_trim(0)"
	got, want := lines(t, left(small(400*mib), 239*mib), text.Options{})["malloc keeps"],
		"239.00 MiB of it free, for blocks to come; to give it back: "+code
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, width := range []int{60, 80, 100, 120, 200} {
		out := printed(t, left(small(400*mib), 239*mib), text.Options{Width: width})
		if !slices.ContainsFunc(strings.Split(out, "\n"), func(line string) bool {
			return strings.HasSuffix(line, " "+code)
		}) {
			t.Errorf("the code is in pieces at %d:\n%s", width, out)
		}
	}
	if got := lines(t, left(small(400*mib), 20*mib), text.Options{}); got["malloc keeps"] != "" {
		t.Errorf("of 528 MiB are 20 not worth a line: %q", got["malloc keeps"])
	}
}

// TestTypedCodeIsWhole: code to type is in one piece at any width, and replaces the advice to run an audit.
func TestTypedCodeIsWhole(t *testing.T) {
	const names, traceback = "del x; Out.pop(2, None)",
		"import sys; sys.last_traceback = None; import gc; gc.collect();"
	r := left(small(400*mib), 0, model.Variable{Name: "x", Kind: "variable", Bytes: 200 * mib})
	r.Lines = []model.Line{
		{
			PID: 4242, Meter: "cpu.numpy", Left: 128 * mib,
			Frame: model.Frame{
				Function: "<module>", File: "2.py", Line: 2, Execution: 2, ExecutionCount: reporttest.Number(2),
			},
		},
	}
	r.ToFree = []model.Freeing{
		{PID: 4242, Names: []string{"x", "Out[2]"}, Type: names, Predicted: 200 * mib, Exact: true},
		{
			PID: 4242, Names: []string{"the last traceback"}, Type: traceback, Predicted: 128*mib + 70*reporttest.KiB,
			Exact: true,
		},
	}
	for _, width := range []int{60, 80, 120} {
		out := printed(t, falling(r), text.Options{Width: width, Full: true})
		if !strings.Contains(out, names+" (200.00 MiB)") || !strings.Contains(out, " "+traceback) ||
			strings.Contains(out, "tracer audit") {
			t.Errorf("at %d:\n%s", width, out)
		}
	}
	r.ToFree = r.ToFree[:1]
	got := lines(t, r, text.Options{})["to free it"]
	if !strings.HasSuffix(got, " (200.00 MiB) → leaves 328.00 MiB · "+
		"tracer audit --full says what holds 128.00 MiB of In[2] line 2") {
		t.Errorf("to free it: %q", got)
	}
}
