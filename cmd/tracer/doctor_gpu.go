package main

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"ipytracer/tracer/gpu"
	"ipytracer/tracer/process"
	"ipytracer/words"
)

// gpuFacts is what can be seen of NVIDIA GPUs.
type gpuFacts struct {
	driver   string // the kernel's, "" where none is loaded
	snapshot gpu.Snapshot
	err      error  // of NVML
	libcuda  string // path, "" where it was not found
}

var errDoctorGPUs = errors.New("NVML has not answered within 5 s")

func lookForGPUs(ctx context.Context, fs process.FS) (f gpuFacts) {
	ctx, cancel := context.WithTimeoutCause(ctx, 5*time.Second, errDoctorGPUs)
	defer cancel()
	f.driver = gpu.LoadedDriver(cmp.Or(fs.Root, "/proc"))
	f.libcuda = gpu.FindLibrary(gpu.CUDALibrary)
	f.snapshot, f.err = gpu.Read(ctx)
	return f
}

// gpus judges them. Without a GPU nothing is missing; with a driver, what cannot be read is.
func (d *diagnosis) gpus(f gpuFacts) {
	var none *gpu.NoNVMLError
	switch {
	case f.err == nil:
		names := make([]string, len(f.snapshot.Devices))
		for i, device := range f.snapshot.Devices {
			names[i] = cmp.Or(device.Name, "unknown")
		}
		d.add("nvml", "GPUs (NVML)", stateOK, "driver %s, CUDA up to %s, %s: %s", cmp.Or(f.snapshot.Driver, f.driver, "unknown"),
			cmp.Or(f.snapshot.CUDA, "unknown"), words.Plural(len(names), "GPU"), cmp.Or(strings.Join(names, ", "), "none"))
	case !errors.As(f.err, &none):
		d.add("nvml", "GPUs (NVML)", stateUnknown, "%v; a GPU may hang", f.err)
		d.advise("sudo dmesg | grep NVRM", "%v", f.err)
	case f.driver == "" && (none.Reason == gpu.NotBuiltIn || none.Reason == gpu.LibraryAbsent):
		d.add("nvml", "GPUs (NVML)", stateOK, "no NVIDIA driver is loaded; 'tracer gpu' has nothing to show")
	case f.driver == "":
		d.add("nvml", "GPUs (NVML)", stateReduced, "%v", none)
		d.advise("", "%v%s", none, nvmlHint(none.Reason))
	default:
		d.add("nvml", "GPUs (NVML)", stateReduced, "driver %s is loaded, but %v: no 'tracer gpu', nothing of what NVML knows of a process", f.driver, none)
		d.advise("", "%v%s", none, nvmlHint(none.Reason))
	}
	switch {
	case f.libcuda != "":
		d.add("libcuda", gpu.CUDALibrary, stateOK, "%s", f.libcuda)
	case f.driver != "":
		d.add("libcuda", gpu.CUDALibrary, stateReduced, "not in ld.so.cache, nor in the usual places; a container may have its own")
	default:
		d.add("libcuda", gpu.CUDALibrary, stateOK, "not there; only CUDA programs need it")
	}
}
