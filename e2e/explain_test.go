package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ipytracer/model"
)

// explain returns a text about a meter in a window, so that the output of a failed test shows why a figure is off: the
// three lines that allocated most, and the three that kept or freed most. For resident memory, which has no lines, it
// shows the lines of mapped memory.
func explain(w model.Window, meter string) string {
	if meter == "cpu.resident" {
		meter = "cpu.mapped"
	}
	var lines []model.Allocation
	for _, a := range w.Allocations {
		if a.Meter == meter {
			lines = append(lines, a)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n\twindow %d, %d ns from %d; %s of %d lines, coverage %+v", w.ID, w.DurationNS, w.StartNS, meter,
		len(lines), w.Coverage[meter])
	show := func(what string, bytesOf func(model.Allocation) int64) {
		size := func(a model.Allocation) int64 { return max(bytesOf(a), -bytesOf(a)) }
		slices.SortStableFunc(lines, func(a, b model.Allocation) int { return cmp.Compare(size(b), size(a)) })
		for _, a := range lines[:min(3, len(lines))] {
			if bytesOf(a) == 0 {
				break
			}
			var calls []string
			for _, f := range a.Stack[:min(3, len(a.Stack))] {
				calls = append(calls, fmt.Sprintf("%s %s:%d", f.Function, filepath.Base(f.File), f.Line))
			}
			fmt.Fprintf(&b, "\n\t%s %+d (%d times): %s", what, bytesOf(a), a.Count, strings.Join(calls, " < "))
		}
	}
	show("allocated", func(a model.Allocation) int64 { return a.Allocated })
	show("net", func(a model.Allocation) int64 { return a.Net })
	return b.String()
}

// keepIfFailed writes the report and the driver's results to a folder, and logs its name, if the test fails.
func keepIfFailed(t *testing.T, r *model.Report, results []result) {
	t.Helper()
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		dir, err := os.MkdirTemp("", "ipytracer-failed-")
		if err != nil {
			t.Log(err)
			return
		}
		for name, what := range map[string]any{"report.json": r, "results.json": results} {
			data, err := json.Marshal(what)
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, name), data, 0o644)
			}
			if err != nil {
				t.Log(err)
			}
		}
		t.Logf("report and what the driver saw: %s", dir)
	})
}
