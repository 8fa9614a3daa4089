package e2e

import (
	"fmt"
	"testing"

	"ipytracer/report"
)

// startPeakEnd is a meter in a cell, in bytes.
type startPeakEnd struct {
	Start int64 `json:"start"`
	Peak  int64 `json:"peak"`
	End   int64 `json:"end"`
}

// TestGPURecordings plays what was recorded on an H200 in a real kernel, call by call, and compares every figure with
// PyTorch's own totals and with the sum of the driver's calls. Late: the libraries are loaded by the first cell.
func TestGPURecordings(t *testing.T) {
	require(t)
	for _, recording := range []string{"torch-default", "torch-expandable", "torch-async", "cupy"} {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/late=%v", recording, late), func(t *testing.T) { checkRecording(t, recording, late) })
		}
	}
}

func checkRecording(t *testing.T, recording string, late bool) {
	p := place{driver: "../gpu/replay/run_replay.py", extra: []string{recording}}
	if late {
		p.extra = append(p.extra, "--late")
	}
	w := startWorkload(t, p, nil)
	tr := attach(t, w.pid, "--budget", "off")
	results := w.run()
	r, _ := tr.stop()
	windows := topCells(r, w.pid)
	if len(windows) != len(results) {
		t.Fatalf("%d cells ran, %d windows: %v", len(results), len(windows), sources(windows))
	}
	compared := 0
	for i, run := range results {
		compared += checkDevices(t, run, windows[i])
	}
	if compared < 2*len(results) {
		t.Errorf("only %d figures were compared", compared)
	}
	checkCertificate(t, r)
	if len(r.Certificate.LateLibraries) > 0 || len(r.Certificate.Problems) > 0 || len(r.Certificate.Lost) > 0 {
		t.Errorf("late %v, problems %v, lost %v", r.Certificate.LateLibraries, r.Certificate.Problems, r.Certificate.Lost)
	}
	if recording == "torch-default" { // the cell that asks for a terabyte
		checkRefusals(t, windows[7], map[string]int{"gpu.0.driver": 2, "gpu.0.active": 1})
	}
}

// checkDevices compares a cell's figures with what the rig knows; it returns how many there were.
func checkDevices(t *testing.T, run result, w report.Window) (compared int) {
	t.Helper()
	for meter, want := range run.Truth {
		if want == nil {
			continue
		}
		compared++
		f, there := w.Meters[meter]
		if !there && *want != (startPeakEnd{}) {
			t.Errorf("%s: %s is missing, want %+v", run.Name, meter, *want)
		}
		if got := (startPeakEnd{f.Start, f.Peak, f.End}); got != *want {
			t.Errorf("%s: %s is %+v, want %+v", run.Name, meter, got, *want)
		}
		if there && !f.Exact {
			t.Errorf("%s: %s is not exact: %+v", run.Name, meter, f)
		}
	}
	return compared
}

func checkRefusals(t *testing.T, w report.Window, want map[string]int) {
	t.Helper()
	got := map[string]int{}
	for _, r := range w.Refused {
		got[r.Meter] = r.Count
		if r.Asked != 1<<40 {
			t.Errorf("%s: refused %d bytes, want a terabyte", r.Meter, r.Asked)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("refused: %v, want %v", got, want)
	}
}
