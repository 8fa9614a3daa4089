package doctor

import (
	"context"
	"errors"
	"fmt"

	"ipytracer/internal/host/process"
	"ipytracer/tracer"
)

// runningList is the result of a look for running Pythons.
type runningList struct {
	Running []RunningPython
	Unseen  []string
}

// lookAtRunning examines every Python process that this user may look into.
func (d *Diagnosis) lookAtRunning(ctx context.Context) {
	var found runningList
	d.ask(ctx, &found, runningPythons, "running Pythons")
	d.Running, d.Unseen = append(d.Running, found.Running...), append(d.Unseen, found.Unseen...)
}

func findRunning(ctx context.Context, fs process.FS) (found runningList, err error) {
	listing, err := fs.Pythons(ctx, tracer.IsPython)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return found, err
	}
	if err != nil {
		found.Unseen = append(found.Unseen, "some of the running processes: it took too long")
	}
	if listing.Hidden > 0 {
		found.Unseen = append(found.Unseen,
			fmt.Sprintf("processes that this user may not examine: %d, of which %d are Pythons by name",
				listing.Hidden, listing.HiddenPythons))
	}
	describer := tracer.NewDescriber(fs)
	defer describer.Close()
	for _, p := range listing.Pythons {
		found.Running = append(found.Running, describeRunning(fs, describer, p))
	}
	return found, nil
}

func describeRunning(fs process.FS, describer *tracer.Describer, p process.Python) RunningPython {
	seen, _ := describer.Describe(p) // unknown facts are empty
	out := RunningPython{
		PID: p.PID, User: p.User, Python: seen.Python, IPython: seen.IPython, Frontend: seen.Frontend,
		Probes: []ProbeSites{},
	}
	f, err := fs.Image(p.PID).OpenMapping(p.Interpreter)
	if err != nil {
		out.Reason = err.Error()
		return out
	}
	defer f.File.Close()
	build, err := tracer.Inspect(f.File)
	if out.Python == "" {
		out.Python = build.Version
	}
	if err != nil {
		out.Reason = err.Error()
		return out
	}
	out.Supported, out.Reason, out.Statement = build.Unseen == "", build.Unseen, build.Statements
	for _, g := range build.Groups {
		out.Probes = append(out.Probes, newProbeSites(g))
	}
	return out
}

// advisePythons adds advice about the Pythons that were found.
func (d *Diagnosis) advisePythons() {
	supported := 0
	for _, p := range d.Pythons {
		if p.Supported {
			supported++
		}
	}
	for _, p := range d.Running {
		if !p.Supported {
			d.advise("", "process %d runs a Python that is not supported: %s", p.PID, p.Reason)
			continue
		}
		supported++
		for _, g := range p.Probes {
			if !g.Found {
				d.advise("", "process %d: its Python (%s) has no place for the probes on %s", p.PID, p.Python, g.Group)
			}
		}
	}
	if supported == 0 {
		d.advise("", "no Python from 3.9 to 3.15 was found on this machine; install one, with IPython")
	}
}
