package e2e

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"ipytracer/model"
)

// TestTruth runs the whole catalogue of cells with known memory and compares every figure with the traced process's own
// measurements.
func TestTruth(t *testing.T) {
	require(t)
	for _, driver := range []string{"run_kernel.py", "run_terminal.py"} {
		t.Run(driver, func(t *testing.T) { checkTruth(t, place{driver: driver}, nil) })
	}
}

// checkTruth is compareTruth without a budget, so that the certificate must be complete as well.
func checkTruth(t *testing.T, p place, cells []string) *model.Report {
	t.Helper()
	r := compareTruth(t, p, cells, "--budget", "off")
	checkCertificate(t, r)
	return r
}

// compareTruth runs a workload under the tracer and compares every figure. It does not check the certificate.
//
// On a busy machine the resident memory of a process also changes for reasons that the workload cannot measure: Linux
// evicts pages of libraries and reads them again, sixteen at once; threads of ZeroMQ touch a first page. So if the
// resident memory of a cell is slightly too high, compareTruth runs the cell again in another process. Then it must not
// be too high.
func compareTruth(t *testing.T, p place, cells []string, flags ...string) *model.Report {
	t.Helper()
	r, disturbed := compareOnce(t, p, cells, true, flags...)
	if len(disturbed) > 0 {
		t.Logf("run again: %v", disturbed)
		compareOnce(t, p, disturbed, false, flags...)
	}
	return r
}

// compareOnce runs a workload once. If patient, it returns the cells whose resident memory is slightly too high,
// instead of failing.
func compareOnce(t *testing.T, p place, cells []string, patient bool, flags ...string) (*model.Report, []string) {
	t.Helper()
	var disturbed []string
	w := startWorkload(t, p, cells)
	tr := attach(t, w.pid, flags...)
	results := w.run()
	r, _ := tr.stop()
	keepIfFailed(t, r, results)
	e := w.expect(cells, results)
	windows := topCells(r, w.pid)
	if len(windows) != len(e.Cells) {
		t.Errorf("%d cells ran, %d windows: %v", len(e.Cells), len(windows), sources(windows))
	}
	for i := range min(len(windows), len(e.Cells), len(results)) {
		if quiet := checkCell(t, r, windows[i], e.Cells[i], results[i], patient); !quiet {
			disturbed = append(disturbed, e.Cells[i].Name)
		}
	}
	return r, append(disturbed, checkExperiments(t, r, e, results, patient)...)
}

// topCells returns the cells of a process that are not within another cell.
func topCells(r *model.Report, pid int) []model.Window {
	kind := map[int]string{}
	for _, w := range r.Windows {
		kind[w.ID] = w.Kind
	}
	var out []model.Window
	for _, w := range r.Windows {
		if w.Kind == model.Cell && w.PID == pid && kind[w.Parent] == model.Session {
			out = append(out, w)
		}
	}
	return out
}

func sources(windows []model.Window) (out []string) {
	for _, w := range windows {
		out = append(out, w.Source)
	}
	return out
}

// checkCell compares a cell's window with its known memory. If patient, it returns false instead of failing if resident
// memory is slightly too high.
func checkCell(t *testing.T, r *model.Report, w model.Window, e expected, run result, patient bool) (quiet bool) {
	t.Helper()
	quiet = true
	if e.Name != run.Name {
		t.Fatalf("expectations and results are out of step: %s, %s", e.Name, run.Name)
	}
	if run.Status != e.Status {
		t.Errorf("%s: the cell itself ended with %s, not %s: %s", e.Name, run.Status, e.Status, run.Error)
		return quiet
	}
	// A terminal requires Enter, sometimes twice, so line ends may differ.
	if strings.TrimRight(w.Source, "\n") != strings.TrimRight(run.Source, "\n") || w.SourceTruncated {
		t.Errorf("%s: source %.200q, want %.200q", e.Name, w.Source, run.Source)
	}
	if w.Status != e.Status {
		t.Errorf("%s: status %s, want %s", e.Name, w.Status, e.Status)
	}
	switch {
	case (w.ExecutionCount == nil) != (run.ExecutionCount == nil):
		t.Errorf("%s: execution count %v, want %v", e.Name, show(w.ExecutionCount), show(run.ExecutionCount))
	case w.ExecutionCount != nil && *w.ExecutionCount != *run.ExecutionCount:
		t.Errorf("%s: execution count %d, want %d", e.Name, *w.ExecutionCount, *run.ExecutionCount)
	}
	for _, meter := range slices.Sorted(maps.Keys(e.Meters)) {
		quiet = checkMeter(t, e, meter, w, e.Meters[meter], run, patient) && quiet
	}
	checkStatements(t, r, w, e)
	quiet = checkHooks(t, r, w, e, run, patient) && quiet
	return checkChildren(t, r, e, run, patient) && quiet
}

// checkHooks compares the row after a cell's result. Every cell has one, except awaited ones where Python does not show
// when they have their result.
func checkHooks(t *testing.T, r *model.Report, cell model.Window, e expected, run result, patient bool) (quiet bool) {
	t.Helper()
	quiet = true
	var rows []model.Window
	for _, w := range r.Windows {
		if w.Parent == cell.ID && w.Kind == model.Statement && w.Name == model.Hooks {
			rows = append(rows, w)
		}
	}
	if len(rows) == 0 && strings.Contains(run.Source, "await ") {
		return quiet
	}
	if len(rows) != 1 {
		t.Errorf("%s: %d rows of hooks", e.Name, len(rows))
		return quiet
	}
	row := rows[0]
	if end := row.StartNS + row.DurationNS; row.Line != 0 || row.Status != model.OK ||
		end != cell.StartNS+cell.DurationNS {
		t.Errorf("%s: the row of hooks: %+v in %+v", e.Name, row, cell)
	}
	for meter, a := range e.Hooks {
		quiet = checkMeter(t, expected{Name: e.Name + ", hooks", Yields: e.Yields}, meter, row, a, run, patient) &&
			quiet
	}
	return quiet
}

// checkChildren compares the peaks of child processes with their own measurements at their maximum.
func checkChildren(t *testing.T, r *model.Report, e expected, run result, patient bool) (quiet bool) {
	t.Helper()
	quiet = true
	for _, c := range e.Children {
		m, ok := run.mark(c.Label)
		if !ok {
			t.Errorf("%s: no mark %q", e.Name, c.Label)
			continue
		}
		found := false
		for _, p := range r.Processes {
			if p.PID != m.PID {
				continue
			}
			found = true
			for _, meter := range []string{"cpu.mapped", "cpu.resident"} {
				off := p.Meters[meter].Peak - m.of(meter)
				if patient && meter == "cpu.resident" && off > 65536 && off <= disturbance {
					t.Logf("%s: child %d: %s peaks %+d from what it saw", e.Name, m.PID, meter, off)
					quiet = false
				} else if off < 0 || off > 65536 {
					t.Errorf("%s: child %d: %s peaks %+d from what it saw", e.Name, m.PID, meter, off)
				}
			}
		}
		if !found {
			t.Errorf("%s: child %d is not in the report", e.Name, m.PID)
		}
	}
	return quiet
}

// show returns a number for a message; nil for nil.
func show(n *int) any {
	if n == nil {
		return nil
	}
	return *n
}

// arena is the size that CPython maps at once for objects since 3.10 (Objects/obmalloc.c, ARENA_BITS).
const arena = 1 << 20

// disturbance is the most bytes, beyond what is allowed, that count as slightly too high.
const disturbance = 1 << 20

// checkMeter compares the figures of one meter with its allowances. If patient, it returns false instead of failing if
// resident memory is slightly too high.
func checkMeter(t *testing.T, e expected, meter string, w model.Window, a allowances, run result,
	patient bool) (quiet bool) {
	t.Helper()
	name, f := e.Name, w.Meters[meter]
	patient = patient && meter == "cpu.resident"
	quiet = true
	if !f.Exact {
		t.Errorf("%s: %s is not exact: %+v", name, meter, f)
	}
	if a.Mark != "" {
		m, ok := run.mark(a.Mark)
		if !ok {
			t.Errorf("%s: no mark %q", name, a.Mark)
			return quiet
		}
		off := f.Peak - m.of(meter)
		if patient && off > a.Above && off <= a.Above+disturbance {
			t.Logf("%s: %s %+d above its mark", name, meter, off)
			quiet = false
		} else if e.Yields && meter == "cpu.mapped" && off == arena {
			t.Logf("%s: another thread mapped an arena after the mark", name)
		} else if off < 0 || off > a.Above {
			t.Errorf("%s: %s peaks at %d, %+d from what the process saw (allowed 0 to %d)%s", name, meter, f.Peak, off,
				a.Above, explain(w, meter))
		} else if off != 0 && a.Above <= 65536 {
			t.Logf("%s: %s %+d above its mark", name, meter, off)
		}
	}
	within := func(what string, got int64, allowed []int64) {
		if patient && len(allowed) == 2 && got > allowed[1] && got <= allowed[1]+disturbance {
			t.Logf("%s: %s %s %d, allowed %d to %d", name, meter, what, got, allowed[0], allowed[1])
			quiet = false
		} else if len(allowed) == 2 && (got < allowed[0] || got > allowed[1]) {
			t.Errorf("%s: %s %s %d, allowed %d to %d%s", name, meter, what, got, allowed[0], allowed[1],
				explain(w, meter))
		}
	}
	within("rises by", f.Peak-f.Start, a.Rise)
	within("keeps", f.Consumed, a.Kept)
	return quiet
}

// statementsOf returns the statements of a cell, without the row after its result.
func statementsOf(r *model.Report, cell model.Window) (statements []model.Window) {
	for _, w := range r.Windows {
		if w.Kind == model.Statement && w.Parent == cell.ID && w.Name != model.Hooks {
			statements = append(statements, w)
		}
	}
	return statements
}

// checkStatements compares the lines of a cell's statements with those that ran.
func checkStatements(t *testing.T, r *model.Report, cell model.Window, e expected) {
	t.Helper()
	var lines []int
	for _, w := range statementsOf(r, cell) {
		lines = append(lines, w.Line)
	}
	want := e.Statements[:min(e.Ran, len(e.Statements))]
	if len(lines) != len(want) {
		t.Errorf("%s: statements on lines %v, want %v", e.Name, lines, want)
		return
	}
	for i := range lines {
		if lines[i] != want[i] {
			t.Errorf("%s: statements on lines %v, want %v", e.Name, lines, want)
			return
		}
	}
}

// checkExperiments compares the peaks of experiments with the measurements in their cells. If patient, it returns the
// cells whose resident memory is slightly too high, instead of failing.
func checkExperiments(t *testing.T, r *model.Report, e expectations, results []result,
	patient bool) (disturbed []string) {
	t.Helper()
	seen := map[string]model.Window{}
	for _, w := range r.Windows {
		if w.Kind == model.Experiment {
			seen[w.Name] = w
		}
	}
	for _, x := range e.Experiments {
		w, ok := seen[x.Name]
		if !ok {
			t.Errorf("experiment %s is missing", x.Name)
			continue
		}
		if (x.End == nil) != (w.Status == model.Incomplete) {
			t.Errorf("experiment %s: status %s", x.Name, w.Status)
		}
		for _, run := range results {
			if run.Name != x.Peak[0] || x.End == nil {
				continue
			}
			m, _ := run.mark(x.Peak[1])
			for _, meter := range []string{"cpu.mapped", "cpu.resident"} {
				off := w.Meters[meter].Peak - m.of(meter)
				if patient && meter == "cpu.resident" && off > 65536 && off <= disturbance {
					t.Logf("experiment %s: %s peaks %+d from mark %s", x.Name, meter, off, m.Label)
					disturbed = append(disturbed, run.Name)
				} else if off < 0 || off > 65536 {
					t.Errorf("experiment %s: %s peaks %+d from mark %s", x.Name, meter, off, m.Label)
				}
			}
		}
	}
	return disturbed
}

// checkCertificate checks that no boundary was lost, and that all peaks agree with the recomputed ones.
func checkCertificate(t *testing.T, r *model.Report) {
	t.Helper()
	if r.Certificate.BoundariesLost != 0 {
		t.Errorf("%d boundaries lost", r.Certificate.BoundariesLost)
	}
	for _, p := range r.Certificate.Meters {
		if p.Agreed != p.Compared || p.Compared == 0 || p.Difference != 0 {
			t.Errorf("%s: kernel peaks and recomputed peaks: %+v", p.ID, p)
		}
	}
	for _, problem := range r.Certificate.Problems {
		t.Logf("problem: %s", problem)
	}
}
