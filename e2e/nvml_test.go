package e2e

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ipytracer/internal/gpu"
	"ipytracer/internal/gpu/gputest"
	"ipytracer/model"
)

// machine describes two GPUs, and one process on the first, for the stand-in of NVML. The GPUs are those of the rig.
func machine(pid int, used int64) string {
	return fmt.Sprintf(`driver 580.159.04
cuda 13000
gpu GPU-a 0:0f:0 0 8589934592 0 8589934592 0 -1 Stand-in
process %d %d C
gpu GPU-b 0:a0:0 1 8589934592 0 8589934592 0 -1 Stand-in
`, pid, used)
}

// withNVML returns the environment of a tracer that finds the machine's NVML.
func withNVML(t *testing.T, used int64) func(pid int) []string {
	library := gputest.Library(t)
	return func(pid int) []string { return gputest.Environ(t, library, machine(pid, used)) }
}

// TestUnattributed: memory that NVML charges to the process and that no call of the driver explains.
func TestUnattributed(t *testing.T) {
	together(t)
	const used = 700 << 20
	var r *model.Report
	var windows []model.Window
	var at int
	// NVML is asked again after 20 times the duration of its last answer, which on a busy machine may be longer than
	// the notebook runs. The memory beyond the driver's is then still as of the time when the process had not used the
	// driver.
	for attempt := 0; attempt == 0 || attempt < 5 && windows[at].Meters["gpu.0.unattributed"].Start == used; attempt++ {
		var results []result
		r, results, windows = runGPU(t, place{driver: "../gpu/run_gpu.py"},
			[]string{"between_cells", "pass_after_between"}, withNVML(t, used))
		at = slices.IndexFunc(results, func(r result) bool { return r.Name == "pass_after_between" })
	}
	f := windows[at].Meters["gpu.0.unattributed"]
	driver := windows[at].Meters["gpu.0.driver"]
	if f.Start != used-driver.Start || f.End != f.Start || driver.Start == 0 {
		t.Errorf("unattributed %+v beside driver %+v, want the rest of %d", f, driver, used)
	}
	if first := windows[0].Meters["gpu.0.unattributed"]; first.Start != used {
		t.Errorf("before the first call of the driver: %+v, want %d", first, used)
	}
	if f.Exact || f.Bound != nil {
		t.Errorf("it is sampled, and says it is exact: %+v", f)
	}
	if other := windows[at].Meters["gpu.1.unattributed"]; other.Peak != 0 {
		t.Errorf("the other GPU: %+v", other)
	}
	want := []model.GPU{
		{Index: 0, UUID: "GPU-a", PCIBusID: "00000000:0F:00.0", Name: "Stand-in", Memory: 8 << 30},
		{Index: 1, UUID: "GPU-b", PCIBusID: "00000000:A0:00.0", Name: "Stand-in", Memory: 8 << 30},
	}
	if !slices.Equal(r.GPUs, want) {
		t.Errorf("GPUs %+v, want %+v", r.GPUs, want)
	}
	for _, p := range r.Certificate.Problems {
		if strings.Contains(p, "NVML") {
			t.Error(p)
		}
	}
}

// TestVisibleDevices: the process numbers its devices in the opposite order, the report numbers them as NVML does.
func TestVisibleDevices(t *testing.T) {
	together(t)
	for _, visible := range []string{"1,0", "1"} {
		t.Run(visible, func(t *testing.T) {
			cells := []string{"keep", "blip", "blip_with_gil"}
			p := place{driver: "../gpu/run_gpu.py", extra: []string{"--visible", visible}}
			r, results, windows := runGPU(t, p, cells, withNVML(t, 1), "--budget", "off")
			second := int64(0)
			for i, run := range results {
				checkDevices(t, run.Name, run.Truth, windows[i].Meters)
				second = max(second, windows[i].Meters["gpu.1.driver"].Peak)
			}
			if second == 0 {
				t.Error("nothing was charged to GPU 1, which is the process's device 0")
			}
			if f, there := windows[len(windows)-1].Meters["gpu.0.driver"]; there && f.Peak != 0 {
				t.Errorf("GPU 0 has %+v", f)
			}
			checkNothingMissed(t, r)
		})
	}
}

// mapsNVML reports whether a process has mapped NVIDIA's library.
func mapsNVML(t *testing.T, pid int) bool {
	t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(maps), gpu.Library)
}

// useGPU makes a notebook take a MiB of its first device.
const useGPU = "import gpu; gpu.cu.call('cuInit', 0); " +
	"gpu.cu.call('cuCtxSetCurrent', gpu.cu.give('cuCtxCreate_v2', 0, 0)); a = gpu.cu.alloc(1 << 20)"

// TestNVMLHelper: when the target uses its GPU, and the driver has its devices, a process without any right loads NVML.
// The session itself loads none of it. When that process is killed the report says so, and its earlier answers stay
// valid.
func TestNVMLHelper(t *testing.T) {
	together(t)
	const used = 700 << 20
	n := startNotebook(t, standIn(t, 1))
	env := gputest.Environ(t, gputest.Library(t),
		fmt.Sprintf("driver 580.159.04\ncuda 13000\ngpu GPU-a 0:0f:0 0 8589934592 0 8589934592 0 -1 Stand-in\n"+
			"process %d %d C\n", n.pid, used))
	devices := strings.TrimPrefix(env[len(env)-1], gputest.DevicesVariable+"=")
	if err := os.RemoveAll(devices); err != nil { // as on a machine that has not used its driver yet
		t.Fatal(err)
	}
	tr := attachIn(t, env, n.pid, "--native")
	helper := started(t, tr.cmd.Process.Pid, gpu.HelperCommand).PID
	none := []string{"CapInh:\t" + noCapability, "CapPrm:\t" + noCapability, "CapEff:\t" + noCapability,
		"NoNewPrivs:\t1"}
	allThreads(t, helper, none...)
	if n.run("pass"); mapsNVML(t, helper) {
		t.Error("the library is loaded, and nobody uses a GPU")
	}
	n.run("import gpu; gpu.cu.call('cuInit', 0)")
	gputest.Devices(t, devices, "0")
	n.run(useGPU)
	until(t, "NVML is loaded", func() bool { n.run("pass"); return mapsNVML(t, helper) })
	allThreads(t, helper, append(none, nothingMore...)...)
	if mapsNVML(t, tr.cmd.Process.Pid) {
		t.Error("the session has loaded the library")
	}
	n.run("'asked'")
	if err := unix.Kill(helper, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until(t, "the helper has gone", func() bool { return unix.Kill(helper, 0) != nil })
	n.run("'ended'")
	r, _ := tr.stop()
	for _, w := range topCells(r, n.pid) {
		if f := w.Meters["gpu.0.unattributed"]; (w.Source == "'asked'" || w.Source == "'ended'") &&
			f.End != used-1<<20 {
			t.Errorf("%s: unattributed %+v, want %d", w.Source, f, used-1<<20)
		}
	}
	problems := strings.Join(r.Certificate.Problems, "\n")
	if len(r.GPUs) != 1 || r.GPUs[0].UUID != "GPU-a" ||
		!strings.Contains(problems, "gpu.N.unattributed is what it was before: the process that asks NVML has ended") {
		t.Errorf("%+v: %s", r.GPUs, problems)
	}
}

// TestOneGPUWithoutNVML: after a late attach, without NVML, to a process with no setting of its devices, the only GPU
// of the machine is no guess.
func TestOneGPUWithoutNVML(t *testing.T) {
	together(t)
	for devices, guesses := range map[string]bool{"0": false, "0 1": true} {
		t.Run(devices, func(t *testing.T) {
			folder := t.TempDir()
			gputest.Devices(t, folder, strings.Fields(devices)...)
			s := startCells(t, standIn(t, 1), fmt.Sprintf(unseenContext, 0), inUnseenContext...)
			tr := attachIn(t, append(os.Environ(), gputest.DevicesVariable+"="+folder), s.cmd.Process.Pid)
			if _, err := io.WriteString(s.in, "go\n"); err != nil {
				t.Fatal(err)
			}
			s.says("done!\n")
			r, _ := tr.stop()
			guessed := slices.ContainsFunc(r.Certificate.Lost,
				func(l model.Loss) bool { return strings.Contains(l.Reason, "whose device is a guess") && l.Count > 0 })
			if guessed != guesses {
				t.Errorf("%+v", r.Certificate)
			}
			for i, w := range topCells(r, s.cmd.Process.Pid) {
				if f := w.Meters["gpu.0.driver"]; f.Exact == guesses || f.End != 11<<20 {
					t.Errorf("cell %d: %+v", i+1, f)
				}
			}
		})
	}
}
