package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ipytracer/event"
	"ipytracer/model"
)

// startPeakEnd is a meter in a cell, in bytes.
type startPeakEnd struct {
	Start int64 `json:"start"`
	Peak  int64 `json:"peak"`
	End   int64 `json:"end"`
}

// runGPU runs a rig under trace and returns the rig's results of its cells and the window of each. env makes the
// tracer's environment for the process; nil is the test's own.
func runGPU(t *testing.T, p place, cells []string,
	env func(pid int) []string, flags ...string) (*model.Report, []result, []model.Window) {
	t.Helper()
	w := startWorkload(t, p, cells)
	var own []string
	if env != nil {
		own = env(w.pid)
	}
	return traceGPU(t, w, own, flags...)
}

// traceGPU traces a rig that is running.
func traceGPU(t *testing.T, w *workload, env []string, flags ...string) (r *model.Report, results []result,
	windows []model.Window) {
	t.Helper()
	tr := attachIn(t, env, w.pid, flags...)
	results = w.run()
	r, _ = tr.stop()
	windows = topCells(r, w.pid)
	if len(windows) != len(results) {
		t.Fatalf("%d cells ran, %d windows: %v", len(results), len(windows), sources(windows))
	}
	return r, results, windows
}

// TestGPURecordings plays recordings of an H200 in a real kernel, call by call, and compares every figure with
// PyTorch's own totals and with the sum of the driver's calls. In the late case the first cell loads the libraries.
func TestGPURecordings(t *testing.T) {
	together(t)
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
	r, results, windows := runGPU(t, p, nil, nil, "--budget", "off")
	compared := 0
	for i, run := range results {
		compared += checkDevices(t, run.Name, run.Truth, windows[i].Meters)
	}
	if compared < 2*len(results) {
		t.Errorf("only %d figures were compared", compared)
	}
	checkCertificate(t, r)
	checkNothingMissed(t, r)
	checkSums(t, r)
	if recording == "torch-default" { // the cell that requests a terabyte
		checkRefusals(t, windows[7], map[string]int{"gpu.0.driver": 2, "gpu.0.active": 1})
	}
}

// TestGPURig runs cells on stand-ins of the driver, the runtime and PyTorch's allocator, with two devices. The
// stand-ins record their own truth. The second cell loads the libraries.
func TestGPURig(t *testing.T) {
	together(t)
	r, results, windows := runGPU(t, place{driver: "../gpu/run_gpu.py"}, nil, nil, "--budget", "off")
	compared := 0
	for i, run := range results {
		if run.Name == "hammer" { // its threads run freely, so no order of calls is the right one
			continue
		}
		compared += checkDevices(t, run.Name, run.Truth, windows[i].Meters)
		compared += checkDevices(t, "after "+run.Name, run.Between, after(r, windows[i]))
		if windows[i].Status != run.Status {
			t.Errorf("%s: status %s, want %s", run.Name, windows[i].Status, run.Status)
		}
	}
	checkNotes(t, r, model.GPUNote{Kind: model.Preallocated, Library: model.JAX, Bytes: 7 << 30},
		model.GPUNote{Kind: model.Managed, Bytes: 192 << 20},
		model.GPUNote{Kind: model.Unreported, Library: model.PyTorch})
	checkSuspended(t, results, windows, map[string]model.Suspended{
		"checkpoint_self": {Out: 1, Back: 1, Bytes: keptOnGPU}, "suspended": {Out: 1, Bytes: keptOnGPU},
		"pass_while_suspended": {Away: true},
		"resumed":              {Back: 1, Bytes: keptOnGPU, Away: true},
	})
	if compared < 5*len(results) {
		t.Errorf("only %d figures were compared", compared)
	}
	checkCertificate(t, r)
	checkNothingMissed(t, r)
}

// checkNotes compares the notes before the figures of GPUs, whatever the process.
func checkNotes(t *testing.T, r *model.Report, want ...model.GPUNote) {
	t.Helper()
	got := slices.Clone(r.GPUNotes)
	for i := range got {
		got[i].PID = 0
	}
	if !slices.Equal(got, want) {
		t.Errorf("notes of GPUs: %+v, want %+v", got, want)
	}
}

// after returns the figures of the time after a cell, up to the next one or the session's end.
func after(r *model.Report, w model.Window) map[string]model.Figure {
	for _, b := range r.Between {
		if b.After == w.ID && b.Before != 0 {
			return b.Meters
		}
	}
	return nil
}

// checkDevices compares figures with those of the rig, and returns their number.
func checkDevices(t *testing.T, name string, truth map[string]*startPeakEnd,
	figures map[string]model.Figure) (compared int) {
	t.Helper()
	if figures == nil {
		return 0
	}
	for meter, want := range truth {
		if want == nil {
			continue
		}
		compared++
		f, there := figures[meter]
		if !there && *want != (startPeakEnd{}) {
			t.Errorf("%s: %s is missing, want %+v", name, meter, *want)
		}
		if got := (startPeakEnd{f.Start, f.Peak, f.End}); got != *want {
			t.Errorf("%s: %s is %+v, want %+v", name, meter, got, *want)
		}
		if there && !f.Exact {
			t.Errorf("%s: %s is not exact: %+v", name, meter, f)
		}
	}
	return compared
}

// checkNothingMissed checks that the certificate is complete. There is no NVML on the rig, and no NVIDIA driver exports
// less.
func checkNothingMissed(t *testing.T, r *model.Report) {
	t.Helper()
	c := r.Certificate
	problems := slices.DeleteFunc(slices.Clone(c.Problems), func(p string) bool {
		return strings.Contains(p, "gpu.N.unattributed is not measured") || strings.Contains(p, "does not export") ||
			strings.Contains(p, "before they ended")
	})
	// The libraries of children are not counted.
	late := slices.DeleteFunc(slices.Clone(c.LateLibraries),
		func(l string) bool { return strings.Contains(l, "bin/python") })
	// Native frames: others of these tests keep the machine busy. Children on the stand-in of a driver live for tenths
	// of a second, and may end before a look at them (TestPythonsThatEndFirst).
	lost := slices.DeleteFunc(slices.Clone(c.Lost), func(l model.Loss) bool {
		return l.Reason == "native frames not known in time" || l.Reason == "Pythons whose cells cannot be seen"
	})
	if len(late) > 0 || len(problems) > 0 || len(lost) > 0 || c.UnknownDeviceFrees > 0 {
		t.Errorf("late %v, problems %v, lost %v, %d unknown frees", late, problems, c.Lost, c.UnknownDeviceFrees)
	}
}

func checkRefusals(t *testing.T, w model.Window, want map[string]int) {
	t.Helper()
	got := map[string]int{}
	for _, r := range w.Refused {
		got[r.Meter] = r.Count
		if r.Meter == "gpu.0.driver" && r.Caller != "cudaMalloc" {
			t.Errorf("%s: refused to %q, want cudaMalloc", r.Meter, r.Caller)
		}
		if r.Asked != 1<<40 {
			t.Errorf("%s: refused %d bytes, want a terabyte", r.Meter, r.Asked)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("refused: %v, want %v", got, want)
	}
}

// TestGPULateAttach attaches to a kernel that has used its GPU for a while. PyTorch's totals are right from its first
// report on, and in windows that were open then. Of the driver's memory only the part that is allocated after the
// attach is known.
func TestGPULateAttach(t *testing.T) {
	together(t)
	cells := []string{"keep", "pinned_keep", "blip", "leak_1", "leak_2", "leak_3", "leak_cleared", "end"}
	r, results, windows := runGPU(t, place{driver: "../gpu/run_gpu.py", extra: []string{"--begin", "leak_1"}}, cells,
		nil, "--budget", "off")
	for i, run := range results {
		if !strings.HasPrefix(run.Name, "leak_") || run.Name == "leak_cleared" {
			continue
		}
		want, f := run.Truth["gpu.0.active"], windows[i].Meters["gpu.0.active"]
		if got := (startPeakEnd{f.Start, f.Peak, f.End}); want == nil || got != *want || want.Start == 0 || !f.Exact {
			t.Errorf("%s: active is %+v, want %+v", run.Name, f, want)
		}
		if d := windows[i].Meters["gpu.0.driver"]; d.Start >= run.Truth["gpu.0.driver"].Start {
			t.Errorf("%s: driver starts at %d: memory from before the attach is not known", run.Name, d.Start)
		}
	}
	last := windows[len(windows)-1].Meters["gpu.0.driver"]
	if r.Certificate.UnknownDeviceFrees == 0 {
		t.Errorf("memory from before the attach was freed, and the certificate says nothing; driver %+v", last)
	}
	checkCertificate(t, r)
}

// TestGPUUnknownPool: a pool was requested before the attach, so its memory may be on a GPU or in the host's memory. It
// is counted with one of them, and neither figure is exact.
func TestGPUUnknownPool(t *testing.T) {
	together(t)
	r, _, windows := runGPU(t, place{driver: "../gpu/run_gpu.py", extra: []string{"--begin", "pool_used"}},
		[]string{"keep", "pool_kept", "pool_used", "end"}, nil, "--budget", "off")
	for i, w := range windows {
		if w.Name != "" || !strings.Contains(w.Source, "outside, 0") {
			continue
		}
		for _, meter := range []string{"gpu.0.driver", "cpu.pinned"} {
			if f, used := windows[i].Meters[meter]; f.Exact || !used && meter == "gpu.0.driver" {
				t.Errorf("%s: %+v, want a figure that is not exact", meter, f)
			}
		}
	}
	if !slices.ContainsFunc(r.Certificate.Lost, func(l model.Loss) bool { return l.Reason == event.LostPool }) {
		t.Errorf("the certificate does not name the pool: %+v", r.Certificate.Lost)
	}
	checkCertificate(t, r)
}

// TestGPUSurprise: libraries in unexpected places are probed once they are loaded, and the report says so. It also says
// so where the session ends before they are probed.
func TestGPUSurprise(t *testing.T) {
	require(t)
	for _, settle := range []string{"0", "2"} {
		r, results, windows := runGPU(t,
			place{driver: "../gpu/run_gpu.py", extra: []string{"--hidden", "--settle", settle}},
			[]string{"vmm_storm", "vmm_other_device", "oom_caught"}, nil, "--budget", "off")
		late := strings.Join(r.Certificate.LateLibraries, " ")
		if !strings.Contains(late, "libcuda.so") || !strings.Contains(late, "libc10.so") {
			t.Errorf("settle %s: joined late: %q, want the driver and PyTorch", settle, late)
		}
		for i, run := range results {
			if run.Name == "vmm_other_device" && settle != "0" { // by now the probes are in place
				f, want := windows[i].Meters["gpu.1.driver"], run.Truth["gpu.1.driver"]
				if want.Peak == want.Start || f.Need() != want.Peak-want.Start {
					t.Errorf("%s: needs %d of the driver, want %+v", run.Name, f.Need(), *want)
				}
			}
		}
	}
}

// TestGPUReplacedDriver updates the driver under a running kernel. The mapped file counts, not the file that now has
// the name.
func TestGPUReplacedDriver(t *testing.T) {
	together(t)
	dir := gpuLibraries.copied(t)
	cells := []string{"keep", "leak_1", "blip_with_gil", "end"}
	w := startWorkload(t, place{driver: "../gpu/run_gpu.py", extra: []string{"--libraries", dir, "--begin", "leak_1"}},
		cells)
	drivers, err := filepath.Glob(filepath.Join(dir, "libcuda.so.*.*"))
	if err != nil || len(drivers) != 1 {
		t.Fatalf("%v, %v", drivers, err)
	}
	if err := os.WriteFile(drivers[0]+".new", []byte("another driver"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(drivers[0]+".new", drivers[0]); err != nil {
		t.Fatal(err)
	}
	r, results, windows := traceGPU(t, w, nil, "--budget", "off")
	for i, run := range results {
		want, f := run.Truth["gpu.0.driver"], windows[i].Meters["gpu.0.driver"]
		if run.Name != "end" && f.Need() != want.Peak-want.Start { // the last one frees memory from before the attach
			t.Errorf("%s: needs %d, want %+v", run.Name, f.Need(), *want)
		}
	}
	checkCertificate(t, r)
}
