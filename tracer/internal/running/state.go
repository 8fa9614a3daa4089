package running

import (
	"log/slog"

	"ipytracer/internal/code/elffile"
	"ipytracer/internal/host/process"
	"ipytracer/tracer/internal/tracee"
)

// State has everything that a session knows of the code that its targets run.
type State struct {
	Cells   Cells
	Codes   Codes
	Natives Natives
}

// NewState returns a state that knows nothing yet. target returns a traced process that has not ended.
func NewState(fs process.FS, log *slog.Logger, kernel *tracee.KernelHalf, report *tracee.Certificate,
	target func(pid int) *tracee.Target) *State {
	return &State{
		Codes: Codes{Report: report},
		Natives: Natives{FS: fs, Kernel: kernel, Log: log, Target: target, Room: elffile.Room{Bytes: MaxNativeBytes},
			Naming: Naming{Done: func() { _ = kernel.Wake() }}},
	}
}
