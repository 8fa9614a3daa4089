package e2e

import (
	"testing"

	"ipytracer/report"
)

// TestTruth runs the whole catalogue of cells with known memory and compares every figure with what the traced
// process measured of itself.
func TestTruth(t *testing.T) {
	require(t)
	for _, driver := range []string{"run_kernel.py", "run_terminal.py"} {
		t.Run(driver, func(t *testing.T) { checkTruth(t, place{driver: driver}, nil) })
	}
}

func checkTruth(t *testing.T, p place, cells []string) {
	t.Helper()
	r := compareTruth(t, p, cells, "--budget", "off")
	checkCertificate(t, r)
}

// compareTruth runs a workload under trace and compares every figure; the certificate is left to the caller.
func compareTruth(t *testing.T, p place, cells []string, flags ...string) *report.Report {
	t.Helper()
	w := startWorkload(t, p, cells)
	tr := attach(t, w.pid, flags...)
	results := w.run()
	r, _ := tr.stop()
	e := w.expect(cells, results)
	windows := topCells(r, w.pid)
	if len(windows) != len(e.Cells) {
		t.Errorf("%d cells ran, %d windows: %v", len(e.Cells), len(windows), sources(windows))
	}
	for i := range min(len(windows), len(e.Cells), len(results)) {
		checkCell(t, r, windows[i], e.Cells[i], results[i])
	}
	checkExperiments(t, r, e, results)
	return r
}

// topCells returns the cells of a process that no other cell holds.
func topCells(r *report.Report, pid int) []report.Window {
	kind := map[int]string{}
	for _, w := range r.Windows {
		kind[w.ID] = w.Kind
	}
	var out []report.Window
	for _, w := range r.Windows {
		if w.Kind == report.Cell && w.PID == pid && kind[w.Parent] == report.Session {
			out = append(out, w)
		}
	}
	return out
}

func sources(windows []report.Window) (out []string) {
	for _, w := range windows {
		out = append(out, w.Source)
	}
	return out
}

// statusOf translates what the catalogue calls a status into the contract's.
func checkCell(t *testing.T, r *report.Report, w report.Window, e expected, run result) {
	t.Helper()
	if e.Name != run.Name {
		t.Fatalf("expectations and results are out of step: %s, %s", e.Name, run.Name)
	}
	if run.Status != e.Status {
		t.Errorf("%s: the cell itself ended with %s, not %s: %s", e.Name, run.Status, e.Status, run.Error)
		return
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
	for _, meter := range []string{"cpu.mapped", "cpu.resident", "cpu.numpy"} {
		if a, ok := e.Meters[meter]; ok {
			checkMeter(t, e, meter, w.Meters[meter], a, run)
		}
	}
	checkStatements(t, r, w, e)
	checkChildren(t, r, e, run)
}

// checkChildren compares the peaks of child processes with what they saw of themselves at their highest.
func checkChildren(t *testing.T, r *report.Report, e expected, run result) {
	t.Helper()
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
				if off := p.Meters[meter].Peak - m.of(meter); off < 0 || off > 65536 {
					t.Errorf("%s: child %d: %s peaks %+d from what it saw", e.Name, m.PID, meter, off)
				}
			}
		}
		if !found {
			t.Errorf("%s: child %d is not in the report", e.Name, m.PID)
		}
	}
}

func show(n *int) any {
	if n == nil {
		return nil
	}
	return *n
}

// arena is what CPython maps at once for objects since 3.10 (Objects/obmalloc.c, ARENA_BITS).
const arena = 1 << 20

func checkMeter(t *testing.T, e expected, meter string, f report.Figure, a allowances, run result) {
	t.Helper()
	name := e.Name
	if !f.Exact {
		t.Errorf("%s: %s is not exact: %+v", name, meter, f)
	}
	if a.Mark != "" {
		m, ok := run.mark(a.Mark)
		if !ok {
			t.Errorf("%s: no mark %q", name, a.Mark)
			return
		}
		off := f.Peak - m.of(meter)
		if e.Yields && meter == "cpu.mapped" && off == arena {
			t.Logf("%s: another thread mapped an arena after the mark", name)
		} else if off < 0 || off > a.Above {
			t.Errorf("%s: %s peaks at %d, %+d from what the process saw (allowed 0 to %d)", name, meter, f.Peak, off, a.Above)
		} else if off != 0 && a.Above <= 65536 {
			t.Logf("%s: %s %+d above its mark", name, meter, off)
		}
	}
	within := func(what string, got int64, allowed []int64) {
		if len(allowed) == 2 && (got < allowed[0] || got > allowed[1]) {
			t.Errorf("%s: %s %s %d, allowed %d to %d", name, meter, what, got, allowed[0], allowed[1])
		}
	}
	within("rises by", f.Peak-f.Start, a.Rise)
	within("keeps", f.Consumed, a.Kept)
}

func checkStatements(t *testing.T, r *report.Report, cell report.Window, e expected) {
	t.Helper()
	var lines []int
	for _, w := range r.Windows {
		if w.Kind == report.Statement && w.Parent == cell.ID {
			lines = append(lines, w.Line)
		}
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

func checkExperiments(t *testing.T, r *report.Report, e expectations, results []result) {
	t.Helper()
	seen := map[string]report.Window{}
	for _, w := range r.Windows {
		if w.Kind == report.Experiment {
			seen[w.Name] = w
		}
	}
	for _, x := range e.Experiments {
		w, ok := seen[x.Name]
		if !ok {
			t.Errorf("experiment %s is missing", x.Name)
			continue
		}
		if (x.End == nil) != (w.Status == report.Incomplete) {
			t.Errorf("experiment %s: status %s", x.Name, w.Status)
		}
		for _, run := range results {
			if run.Name != x.Peak[0] || x.End == nil {
				continue
			}
			m, _ := run.mark(x.Peak[1])
			for _, meter := range []string{"cpu.mapped", "cpu.resident"} {
				if off := w.Meters[meter].Peak - m.of(meter); off < 0 || off > 65536 {
					t.Errorf("experiment %s: %s peaks %+d from mark %s", x.Name, meter, off, m.Label)
				}
			}
		}
	}
}

func checkCertificate(t *testing.T, r *report.Report) {
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
