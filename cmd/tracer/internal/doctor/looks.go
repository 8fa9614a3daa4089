package doctor

import (
	"context"

	"ipytracer/internal/host/look"
	"ipytracer/internal/host/process"
	"ipytracer/tracer"
)

// Looks are the looks that this process must support, by name ([look.For]).
var Looks = map[string]look.For{
	runningPythons: {
		Find: func(ctx context.Context, fs process.FS, _ int, _ string) (any, error) { return findRunning(ctx, fs) },
	},
	onePython: {Find: func(_ context.Context, fs process.FS, pid int, _ string) (any, error) {
		p, err := fs.Python(pid, tracer.IsPython)
		if err != nil {
			return nil, err
		}
		describer := tracer.NewDescriber(fs)
		defer describer.Close()
		return describeRunning(fs, describer, p), nil
	}},
	files: {
		Reads: []string{"/"},
		Find:  func(_ context.Context, _ process.FS, _ int, home string) (any, error) { return findFiles(home), nil },
	},
}
