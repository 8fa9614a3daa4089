package doctor

import (
	"context"
	"fmt"

	"ipytracer/internal/host/look"
	"ipytracer/internal/host/process"
	"ipytracer/tracer"
)

// The names of the looks that a process without rights makes for the doctor.
const (
	runningPythons = "pythons"
	onePython      = "python"
	files          = "files"
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

// ask has that process look. If it cannot, found stays as it is, and the diagnosis says which look is missing.
func (d *Diagnosis) ask(ctx context.Context, found any, what, title string) {
	if err := look.Ask(ctx, found, what); err != nil {
		d.Unseen = append(d.Unseen, fmt.Sprintf("%s: %v", title, err))
	}
}
