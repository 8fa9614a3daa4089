package text_test

import (
	"strings"
	"testing"

	"ipytracer/internal/report/reporttest"
	"ipytracer/internal/report/text"
	"ipytracer/model"
)

// TestNamesOnce: memory that stands under names is under no line, however many names hold it together. What a line has
// left besides is its own.
func TestNamesOnce(t *testing.T) {
	line := func(left int64, held ...model.HeldPart) []model.Line {
		return []model.Line{{PID: 4242, Meter: "cpu.numpy", Left: left, Held: held, Frame: model.Frame{
			Function: "<module>", File: "2.py", Line: 2, Execution: 2, ExecutionCount: reporttest.Number(2)}}}
	}
	both := model.HeldPart{Names: []string{"a", "b"}, Bytes: 50 * mib}
	other := model.HeldPart{Names: []string{"a", "c"}, Bytes: 40 * mib}
	garbage := model.HeldPart{Names: []string{}, Bytes: 30 * mib, Waits: true}
	collect := model.Freeing{PID: 4242, Names: []string{}, Type: "import gc; gc.collect()", Predicted: 30 * mib,
		Collects: true, Exact: true}
	for name, c := range map[string]struct {
		lines       []model.Line
		more        []model.Freeing
		line, audit string // of the line's memory
	}{
		"all":     {lines: line(50*mib, both)},
		"a part":  {line(90*mib, both), nil, "40.00 MiB", "40.00 MiB"},
		"others":  {line(90*mib, both, other), nil, "40.00 MiB", "40.00 MiB"},
		"garbage": {line(80*mib, both, garbage), []model.Freeing{collect}, "30.00 MiB", ""},
		"no code": {line(80*mib, both, garbage), nil, "30.00 MiB", "30.00 MiB"},
	} {
		r := left(small(400*mib), 0, model.Variable{Name: "a", Kind: "variable", Reaches: 50 * mib},
			model.Variable{Name: "b", Kind: "variable", Reaches: 50 * mib})
		r.Lines = c.lines
		r.ToFree = append([]model.Freeing{{PID: 4242, Names: []string{"a", "b"}, Type: "del a, b",
			Predicted: 50 * mib, Shared: 50 * mib, Exact: true}}, c.more...)
		got := lines(t, r, text.Options{})
		there, free := got["still there"], got["to free it"]
		if !strings.Contains(there, ": a + b 50.00 MiB · ") ||
			strings.Contains(there, " numpy of ") != (c.line != "") ||
			!strings.Contains(there, c.line) {
			t.Errorf("%s: still there %q", name, there)
		}
		if strings.Contains(free, "tracer audit") != (c.audit != "") || !strings.Contains(free, c.audit) {
			t.Errorf("%s: to free it %q", name, free)
		}
		reporttest.Report(t, r)
	}
}
