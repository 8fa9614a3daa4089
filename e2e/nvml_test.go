package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ipytracer/model"
	"ipytracer/tracer/gpu/gputest"
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

// withNVML is the environment of a tracer that finds the machine's NVML.
func withNVML(t *testing.T, used int64) func(pid int) []string {
	library := gputest.Library(t)
	return func(pid int) []string { return gputest.Environ(t, library, machine(pid, used)) }
}

// TestUnattributed: what NVML charges to the process and no call of the driver explains.
func TestUnattributed(t *testing.T) {
	together(t)
	const used = 700 << 20
	r, results, windows := runGPU(t, place{driver: "../gpu/run_gpu.py"}, []string{"between_cells", "pass_after_between"}, withNVML(t, used))
	// NVML is not asked more often than a cell of a millisecond ends: what lies behind a longer time is of now.
	at := slices.IndexFunc(results, func(r result) bool { return r.Name == "pass_after_between" })
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

// TestVisibleDevices: the process counts its devices the other way round, the report goes by NVML.
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
