package text_test

import (
	"maps"
	"strings"
	"testing"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/report/reporttest"
	"ipytracer/internal/report/text"
	"ipytracer/model"
)

// TestFirstScreen: at 80 columns the first lines take at most 12 lines of a terminal, and each begins with its answer.
// Code is whole, and what is left out is counted.
func TestFirstScreen(t *testing.T) {
	reports := maps.Clone(reporttest.Reports)
	reports["training"] = reporttest.Training
	reports["on GPUs"] = func() *model.Report { return reporttest.OnGPUs(reporttest.Rich()) }
	reports["wild"], reports["with lines"] = reporttest.Wild, reporttest.WithLines
	reports["savings"] = reporttest.Savings
	reports["sixty"], reports["grown"], reports["crowded"] = sixty, grown, crowded
	for name, make := range reports {
		first, _, _ := strings.Cut(printed(t, make(), text.Options{Width: 80}), "\n\n")
		if first, _, _ = strings.Cut("\n"+first, "\nsession "); !strings.Contains(first, "still there") {
			continue // it has no first lines
		}
		taken := 0
		for line := range strings.SplitSeq(strings.TrimSpace(first), "\n") {
			taken += max(1, (escape.Cells(line)+79)/80)
			if len(line) < 14 || line[13] == ' ' {
				t.Errorf("%s: a line without an answer: %q", name, line)
			}
		}
		if taken > 12 {
			t.Errorf("%s: %d lines:\n%s", name, taken, first)
		}
	}
	out := printed(t, crowded(), text.Options{Width: 80})
	for _, want := range []string{
		"\nto free it   import sys, gc; sys.last_value", "gc.collect();\n", "and 80.00 MiB in 2 more (--full)",
		" smaller parts\n", "\nhow sure     exact\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}
}

// crowded returns a session with more to say than the first lines have room for: a long source, many names, long code,
// and free memory that malloc keeps.
func crowded() *model.Report {
	names := []model.Variable{}
	for _, name := range []string{"weights", "history", "a_name_that_is_quite_long", "frame", "Out[12]", "axes"} {
		names = append(names, model.Variable{Name: name, Kind: "variable", Bytes: 50 * mib})
	}
	r := left(small(400*mib), 100*mib, names...)
	r.Windows[2].Source = "data = load()\n" + strings.Repeat("result = work(data); ", 12)
	for i := range 6 {
		allocated(&r.Windows[2], "cpu.numpy", 2, 2, int64(60-i)*mib, 1)
		r.Windows[2].Allocations[i].Stack = append([]model.Frame{{
			Function: "a_function_with_a_long_name", File: "/home/ada/work/a_module_with_a_long_name.py", Line: 3 + i,
		}}, r.Windows[2].Allocations[i].Stack...)
	}
	code := "import sys, gc; sys.last_value = sys.last_traceback = sys.last_exc = get_ipython().InteractiveTB.tb = " +
		"get_ipython().last_execution_result = None; gc.collect();"
	r.ToFree = []model.Freeing{
		{PID: 4242, Names: []string{"the last traceback"}, Type: code, Predicted: 100 * mib, Exact: true},
		{PID: 4242, Names: []string{"weights"}, Type: "del weights", Predicted: 50 * mib, Exact: true},
		{PID: 4242, Names: []string{"history"}, Type: "del history", Predicted: 30 * mib, Exact: true},
	}
	return falling(r)
}
