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

// explain prints the code that allocated most of a meter in a window, and the code behind most of the memory that the
// window keeps or frees, three calls each. So the output of a failing test alone shows why a figure is off. Resident
// memory has no lines: those of mapped memory are shown.
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
	show := func(what string, of func(model.Allocation) int64) {
		slices.SortStableFunc(lines,
			func(a, b model.Allocation) int { return cmp.Compare(max(of(b), -of(b)), max(of(a), -of(a))) })
		for _, a := range lines[:min(3, len(lines))] {
			if of(a) == 0 {
				break
			}
			var calls []string
			for _, f := range a.Stack[:min(3, len(a.Stack))] {
				calls = append(calls, fmt.Sprintf("%s %s:%d", f.Function, filepath.Base(f.File), f.Line))
			}
			fmt.Fprintf(&b, "\n\t%s %+d (%d times): %s", what, of(a), a.Count, strings.Join(calls, " < "))
		}
	}
	show("allocated", func(a model.Allocation) int64 { return a.Allocated })
	show("net", func(a model.Allocation) int64 { return a.Net })
	return b.String()
}

// keepIfFailed leaves the report and the driver's results in a folder, and names it, if the test has failed when it
// ends.
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
