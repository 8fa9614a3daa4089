package doctor

import (
	"context"

	"ipytracer/tracer"
	"ipytracer/tracer/look"
	"ipytracer/tracer/process"
)

// The names of what the doctor has looked for by a process without rights.
const (
	runningPythons = "pythons"
	onePython      = "python"
	files          = "files"
)

// Looks are what that process must be able to look for, by name ([look.For]).
var Looks = map[string]look.For{
	runningPythons: {Find: func(ctx context.Context, fs process.FS, _ int, _ string) (any, error) { return findRunning(ctx, fs) }},
	onePython: {Find: func(_ context.Context, fs process.FS, pid int, _ string) (any, error) {
		p, err := fs.Python(pid, tracer.IsPython)
		if err != nil {
			return nil, err
		}
		return describeRunning(fs, p), nil
	}},
	files: {Reads: []string{"/"}, Find: func(_ context.Context, _ process.FS, _ int, home string) (any, error) { return findFiles(home), nil }},
}
