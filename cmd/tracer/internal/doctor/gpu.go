package doctor

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/internal/gpu"
	"ipytracer/internal/host/process"
	"ipytracer/internal/words"
)

// gpuFacts are the visible facts about NVIDIA GPUs.
type gpuFacts struct {
	driver   string // the version of the loaded driver, "" if none is loaded
	snapshot gpu.Snapshot
	err      error  // of NVML
	libcuda  string // path, "" if it was not found
}

var errSilentGPUs = errors.New("NVML has not answered within 5 s")

func lookForGPUs(ctx context.Context, fs process.FS) (f gpuFacts) {
	ctx, cancel := context.WithTimeoutCause(ctx, 5*time.Second, errSilentGPUs)
	defer cancel()
	f.driver = gpu.LoadedDriver(cmp.Or(fs.Root, "/proc"))
	f.libcuda = gpu.FindLibrary(gpu.CUDALibrary)
	f.snapshot, f.err = gpu.Read(ctx)
	return f
}

// gpus judges the facts about GPUs. A machine without NVIDIA's driver lacks nothing. With the driver, what cannot be
// read is missing.
func (d *Diagnosis) gpus(f gpuFacts) {
	var noNVML *gpu.NoNVMLError
	switch {
	case f.err == nil:
		names := make([]string, len(f.snapshot.Devices))
		for i, device := range f.snapshot.Devices {
			names[i] = cmp.Or(device.Name, "unknown")
		}
		d.add("nvml", "GPUs (NVML)", OK, "driver %s, CUDA up to %s, %s: %s",
			cmp.Or(f.snapshot.Driver, f.driver, "unknown"), cmp.Or(f.snapshot.CUDA, "unknown"),
			words.Plural(len(names), "GPU"), cmp.Or(strings.Join(names, ", "), "none"))
	case !errors.As(f.err, &noNVML):
		d.add("nvml", "GPUs (NVML)", Unknown, "%v; a GPU may hang", f.err)
		d.advise("sudo dmesg | grep NVRM", "%v", f.err)
	case f.driver == "" && (noNVML.Reason == gpu.NotBuiltIn || noNVML.Reason == gpu.LibraryAbsent):
		d.add("nvml", "GPUs (NVML)", OK, "no NVIDIA driver is loaded; 'tracer gpu' has nothing to show")
	case f.driver == "":
		d.add("nvml", "GPUs (NVML)", Reduced, "%v", noNVML)
		d.advise("", "%v%s", noNVML, console.NVMLHint(noNVML.Reason))
	default:
		d.add("nvml", "GPUs (NVML)", Reduced,
			"driver %s is loaded, but %v: 'tracer gpu' does not work, and NVML's figures of processes are missing",
			f.driver, noNVML)
		d.advise("", "%v%s", noNVML, console.NVMLHint(noNVML.Reason))
	}
	switch {
	case f.libcuda != "":
		d.add("libcuda", gpu.CUDALibrary, OK, "%s", f.libcuda)
	case f.driver != "":
		d.add("libcuda", gpu.CUDALibrary, Reduced,
			"not in ld.so.cache, nor in the usual places; a container may have its own")
	default:
		d.add("libcuda", gpu.CUDALibrary, OK, "not there; only CUDA programs need it")
	}
}
