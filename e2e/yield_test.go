package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ipytracer/internal/gpu/gputest"
	"ipytracer/model"
)

// checkSuspended compares the memory of windows that were on the host.
func checkSuspended(t *testing.T, results []result, windows []model.Window, want map[string]model.Suspended) {
	t.Helper()
	for i, run := range results {
		expected, there := want[run.Name]
		got := windows[i].Suspended
		if there != (got != nil) || there && *got != expected {
			t.Errorf("%s: suspended %+v, want %+v", run.Name, got, expected)
		}
		if there != strings.Contains(windows[i].Note, "host") {
			t.Errorf("%s: %q", run.Name, windows[i].Note)
		}
		delete(want, run.Name)
	}
	if len(want) > 0 {
		t.Errorf("cells are missing: %v", want)
	}
}

const keptOnGPU = 256 << 20 // by the cell `keep`

// TestGPUYield: a kernel yields its GPU and gets it back, while a session traces it. The session sees that and marks
// the windows, and its figures are exact. The code that allocated live blocks is still known.
func TestGPUYield(t *testing.T) {
	together(t)
	file := filepath.Join(t.TempDir(), "run.arrows")
	p := place{driver: "../gpu/run_gpu.py", env: []string{"IPYTRACER_PROGRAM=" + binary}}
	cells := []string{"keep", "yielded", "pass_while_yielded", "given_back", "blip_with_gil", "end"}
	r, results, windows := runGPU(t, p, cells, nil, "--budget", "off", "--record", file)
	for i, run := range results {
		checkDevices(t, run.Name, run.Truth, windows[i].Meters)
		if run.Status != windows[i].Status {
			t.Errorf("%s: %s", run.Name, windows[i].Status)
		}
	}
	checkSuspended(t, results, windows, map[string]model.Suspended{
		"yielded": {Out: 1, Bytes: keptOnGPU}, "pass_while_yielded": {Away: true},
		"given_back": {Back: 1, Bytes: keptOnGPU, Away: true},
	})
	checkNothingMissed(t, r)
	for _, w := range windows {
		// Moved memory is no block: the code that allocated it is still known, and its blocks do not add up to the
		// change of the meter.
		if c, there := w.Coverage["gpu.0.driver"]; there && c.Exact == (w.Suspended != nil) {
			t.Errorf("%s: %+v, suspended %+v", w.Source, c, w.Suspended)
		}
	}
	out, err := exec.Command(binary, "report", file, "--full").CombinedOutput()
	for _, want := range []string{"256.00 MiB of a GPU's memory went to the host", "GPU memory was on the host",
		"came back from the host"} {
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%v: no %q in\n%s", err, want, out)
		}
	}
}

// TestYieldOnATerminal: each step is shown, with the memory that the process still holds, until it is over.
func TestYieldOnATerminal(t *testing.T) {
	together(t)
	cuda, dir := t.TempDir(), t.TempDir()
	gputest.CUDA(t, cuda)
	nvml := gputest.Library(t)
	truth, goOn, machine := filepath.Join(dir, "truth"), filepath.Join(dir, "go-on"), filepath.Join(dir, "machine")
	holder := exec.Command(filepath.Join(cuda, "holder"), fmt.Sprint(1<<30))
	holder.Env = gputest.CUDAEnviron(t, cuda, truth, "")
	in, err1 := holder.StdinPipe()
	out, err2 := holder.StdoutPipe()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	defer in.Close()
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = holder.Process.Kill(); _ = holder.Wait() }()
	if _, err := out.Read(make([]byte, 6)); err != nil { // "ready"
		t.Fatal(err)
	}
	holds := func(bytes int) {
		gputest.Write(t, machine+".new",
			fmt.Sprintf("driver 580\ngpu GPU-a 0:0f:0 0 8589934592 0 8589934592 0 -1 Stand-in\nprocess %d %d C\n",
				holder.Process.Pid, bytes))
		if err := os.Rename(machine+".new", machine); err != nil {
			t.Fatal(err)
		}
	}
	holds(1 << 30)
	devices := t.TempDir()
	gputest.Devices(t, devices, "0")
	env := append(gputest.CUDAEnviron(t, cuda, truth, "wait Checkpoint "+goOn+"\n"), "LD_LIBRARY_PATH="+nvml+":"+cuda,
		"NVML_STANDIN="+machine, gputest.DevicesVariable+"="+devices, "TERM=xterm-256color")
	s := startScreen(t, 100, 24, env, binary, "gpu", "yield", fmt.Sprint(holder.Process.Pid))
	shows := func(want ...string) {
		t.Helper()
		s.shows(strings.Join(want, ", "), func(text string) bool {
			return !slices.ContainsFunc(want, func(w string) bool { return !strings.Contains(text, w) })
		})
	}
	shows("moving to the host · 1.00 GiB on its GPUs")
	holds(4 << 20)
	shows("moving to the host · 4.00 MiB on its GPUs")
	gputest.Write(t, goOn, "")
	shows("its GPU memory is on the host, after ", "it holds 4.00 MiB on its GPUs now")
}
