package instruments

import (
	"slices"

	"ipytracer/event"
	"ipytracer/internal/host/process"
	"ipytracer/internal/python/numpy"
	"ipytracer/tracer/internal/tracee"
)

// uncountedArrays are the modules of NumPy that report some blocks to tracemalloc only while it runs. While the probes
// on PyTraceMalloc_Track serve, these blocks are missing.
type uncountedArrays struct {
	files []process.FileID // that have been looked at
}

// meet examines a module that a target has mapped since a time. It reads the file once.
func (u *uncountedArrays) meet(h *Host, t *tracee.Target, since event.Nanoseconds, m process.Mapping) {
	if slices.Contains(u.files, m.File) || len(u.files) >= maxArrayModules {
		return
	}
	u.files = append(u.files, m.File)
	file, err := h.OpenMapping(t.PID, m)
	if err != nil {
		if !h.HasEnded(t) { // the target hides its own file, or the file's server does not answer
			h.Misses(t.PID, since, []event.Meter{event.NumPy}, unreadNumPy, t.PID, tracee.Clean(m.Path), err)
		}
		return
	}
	defer file.File.Close()
	if uncounted, err := numpy.Unreported(file.File); err != nil || !uncounted {
		return
	}
	h.Misses(t.PID, since, []event.Meter{event.NumPy}, uncountedBlocks, t.PID, tracee.Clean(m.Path))
}

// unreadNumPy describes the blocks that may be missing of a module that cannot be read.
const unreadNumPy = "pid %d: %s could not be opened: %v: if it is a NumPy of 2.5 or newer, arrays that were resized, " +
	"and blocks of C extensions (PyDataMem_NEW), are not seen"

// uncountedBlocks describes the blocks that are missing then.
const uncountedBlocks = "pid %d: %s is a NumPy of 2.5 or newer, and the probes on PyTraceMalloc_Track serve: arrays " +
	"that were resized, and blocks of C extensions (PyDataMem_NEW), are not seen unless tracemalloc runs"
