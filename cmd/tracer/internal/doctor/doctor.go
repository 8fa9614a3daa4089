// Package doctor finds out whether a machine can trace. It checks the machine's kernel, privileges, GPUs, C library,
// NumPys and Pythons, the cost of a probe there, and how to get missing parts. Flags and exit statuses belong to the
// command; package selftest checks that the figures are right.
package doctor

import (
	"context"

	"ipytracer/internal/host/filecache"
	"ipytracer/internal/host/look"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
	"ipytracer/tracer"
)

// Options say what to examine.
type Options struct {
	Tracer  string // the tracer's version
	Measure bool   // also measure the cost of probes, if this user may trace
	PID     int    // examine the machine and this Python only; 0: everything
}

// Examine examines everything, or the machine and one Python. It reads facts about the machine from fs. An error is
// about that Python; Examine returns the findings about the machine with it.
func Examine(ctx context.Context, fs process.FS, o Options) (Diagnosis, error) {
	facts := fs.Facts()
	d := diagnose(facts)
	d.Tracer = o.Tracer
	if facts.BTF {
		d.features(ledger.InspectKernel())
	}
	if d.Possible {
		d.tryKernel(ctx, o.Measure)
	} else {
		d.Unseen = append(d.Unseen,
			"whether the probes load, which of them the kernel offers, and what they cost: that takes root")
	}
	if o.PID != 0 {
		return d, d.judgePython(ctx, o.PID)
	}
	d.cache(filecache.Folder)
	d.gpus(lookForGPUs(ctx, fs))
	d.lookAtRunning(ctx)
	d.lookAtFiles(ctx)
	d.advisePythons()
	return d, nil
}

// judgePython judges whether the cells of one running Python can be seen.
func (d *Diagnosis) judgePython(ctx context.Context, pid int) error {
	var r RunningPython
	if err := look.Ask(ctx, &r, onePython, pid); err != nil {
		return err
	}
	d.Running, d.onlyOne = append(d.Running, r), true
	d.advisePythons()
	if !r.Supported {
		d.add("windows", "windows", Missing, "%s", r.Reason)
		return nil
	}
	d.add("windows", "windows", OK, "cells of process %d can be seen", pid)
	return nil
}

// Looks are the doctor's looks, by name, that a process started for looks must know.
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
