package doctor

import (
	"slices"
	"strings"
	"testing"

	"ipytracer/internal/gpu"
)

func TestGPUs(t *testing.T) {
	none := func(r gpu.Reason) error { return &gpu.NoNVMLError{Reason: r} }
	two := gpu.Snapshot{Driver: "580.1", CUDA: "13.0", Devices: []gpu.Device{{Name: "NVIDIA H200"}, {}}}
	for _, c := range []struct {
		name   string
		facts  gpuFacts
		states string // of NVML and libcuda
		detail string
		advice string
	}{
		{"no GPU", gpuFacts{err: none(gpu.LibraryAbsent)}, "ok ok", "no NVIDIA driver is loaded", ""},
		{"no GPU, no cgo", gpuFacts{err: none(gpu.NotBuiltIn)}, "ok ok", "no NVIDIA driver is loaded", ""},
		{
			"two", gpuFacts{driver: "580.1", snapshot: two, libcuda: "/lib/libcuda.so.1"}, "ok ok",
			"driver 580.1, CUDA up to 13.0, 2 GPUs: NVIDIA H200, unknown", "",
		},
		{
			"no cgo", gpuFacts{driver: "580.1", err: none(gpu.NotBuiltIn), libcuda: "/l"}, "reduced ok",
			"driver 580.1 is loaded, but this build has no NVML", "make build",
		},
		{
			"library without driver", gpuFacts{err: none(gpu.DriverNotLoaded), libcuda: "/l"}, "reduced ok",
			"not loaded", "modprobe",
		},
		{
			"driver without libraries", gpuFacts{driver: "580.1", err: none(gpu.LibraryAbsent)}, "reduced reduced",
			"there is no libnvidia-ml.so.1", "install NVIDIA's driver",
		},
		{
			"hangs", gpuFacts{driver: "580.1", err: errSilentGPUs, libcuda: "/l"}, "unknown ok", "has not answered",
			"NVML has not answered",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := Diagnosis{Possible: true}
			d.gpus(c.facts)
			at := slices.IndexFunc(d.Checks, func(f Finding) bool { return f.ID == "nvml" })
			if len(d.Checks) != 2 || d.Checks[0].State+" "+d.Checks[1].State != c.states ||
				!strings.Contains(d.Checks[at].Detail, c.detail) || !d.Possible {
				t.Errorf("%+v", d.Checks)
			}
			if (c.advice == "") != (len(d.Actions) == 0) ||
				c.advice != "" && !strings.Contains(d.Actions[0].Problem, c.advice) {
				t.Errorf("%+v", d.Actions)
			}
		})
	}
}
