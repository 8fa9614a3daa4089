// Package doctor finds out whether a machine can trace: its kernel, privileges, GPUs, C library, NumPys and Pythons,
// the cost of a probe there, and how to get missing parts. Flags and exit statuses belong to the command; package
// selftest checks that the figures are right.
package doctor

import (
	"context"

	"ipytracer/internal/host/filecache"
	"ipytracer/internal/host/look"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
)

// Schema is the version of the JSON object ([Diagnosis]).
const Schema = "ipytracer/doctor/v1"

// Diagnosis has all findings of the doctor.
type Diagnosis struct {
	Schema   string            `json:"schema"`
	Tracer   string            `json:"tracer"`
	Possible bool              `json:"possible"` // this user can trace
	Kernel   string            `json:"kernel"`
	CPUs     int               `json:"cpus"`
	Root     bool              `json:"root"`
	Checks   []Finding         `json:"checks"`
	Meters   []MeterRung       `json:"meters"`
	Costs    []Cost            `json:"costs"`
	Running  []RunningPython   `json:"running_pythons"`
	Pythons  []InstalledPython `json:"installed_pythons"`
	Unseen   []string          `json:"not_examined"`
	Actions  []Action          `json:"actions"`

	one bool // only one Python was looked at
}

// The states of a finding.
const (
	OK      = "ok"
	Missing = "missing" // and needed: tracing is not possible
	Reduced = "reduced" // tracing is possible, but less exact or more expensive
	Unknown = "unknown"
)

// Finding is one thing that the kernel, the privileges or the settings allow or forbid.
type Finding struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	State  string `json:"state"`
	Detail string `json:"detail"`
}

// MeterRung names the probe that serves a meter here.
type MeterRung struct {
	ID     string `json:"id"`
	Source string `json:"source"`
	Exact  bool   `json:"exact"`
	Bound  int64  `json:"bound"` // bytes for each thread, if it is not exact
}

// Action is a problem and the command against it.
type Action struct {
	Problem string `json:"problem"`
	Command string `json:"command"` // "" if no command helps
}

// Options are the scope of an examination.
type Options struct {
	Tracer  string // the tracer's version
	Measure bool   // measure the cost of probes, too, if that is permitted
	PID     int    // examine the machine and this Python only; 0: everything
}

// Examine examines everything, or the machine and one Python. It reads facts about the machine from fs. An error is
// about that one Python; the findings about the machine are there all the same.
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
		return d, d.judge(ctx, o.PID)
	}
	d.cache(filecache.Folder)
	d.gpus(lookForGPUs(ctx, fs))
	d.lookAtRunning(ctx)
	d.lookAtFiles(ctx)
	d.advisePythons()
	return d, nil
}

// judge says whether the cells of one running Python can be seen.
func (d *Diagnosis) judge(ctx context.Context, pid int) error {
	var r RunningPython
	if err := look.Ask(ctx, &r, onePython, pid); err != nil {
		return err
	}
	d.Running, d.one = append(d.Running, r), true
	d.advisePythons()
	if !r.Supported {
		d.add("windows", "windows", Missing, "%s", r.Reason)
		return nil
	}
	d.add("windows", "windows", OK, "cells of process %d can be seen", pid)
	return nil
}
