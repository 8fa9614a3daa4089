package main

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"

	"ipytracer/tracer/ledger"
	"ipytracer/tracer/process"
)

// DoctorOptions are the flags of `tracer doctor`.
type DoctorOptions struct {
	Format string
	Quick  bool
}

func newDoctorCommand(c console) *cobra.Command {
	var o DoctorOptions
	cmd := &cobra.Command{
		Use:   "doctor [PID]",
		Short: "Say what this machine allows, what tracing costs here, and what to do about what is missing",
		Long: `Look at the kernel, the privileges, the meters and the Pythons of this machine; measure what a probe costs; and
end with what to do. Without root it looks as far as it can and says what it could not see. With the pid of a Python
it looks at that one instead of all, and judges whether its cells can be seen.

Exit status: 0 if tracing is possible, 3 if it is not.`,
		Example: "  sudo tracer doctor\n  sudo tracer doctor 4242\n  sudo tracer doctor --format json",
		Args:    usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			pids, err := parsePIDs(args)
			if err != nil {
				return usageError{err}
			}
			return runDoctor(cmd.Context(), o, c, append(pids, 0)[0])
		},
	}
	cmd.Flags().StringVar(&o.Format, "format", "text", "how to print the findings: text or json")
	cmd.Flags().BoolVar(&o.Quick, "quick", false, "do not measure what probes cost (some seconds)")
	return cmd
}

// doctorSchema is the version of the JSON object.
const doctorSchema = "ipytracer/doctor/v1"

// diagnosis is everything the doctor found.
type diagnosis struct {
	Schema   string            `json:"schema"`
	Tracer   string            `json:"tracer"`
	Possible bool              `json:"possible"` // to trace, as this user
	Kernel   string            `json:"kernel"`
	CPUs     int               `json:"cpus"`
	Root     bool              `json:"root"`
	Checks   []finding         `json:"checks"`
	Meters   []meterRung       `json:"meters"`
	Costs    []cost            `json:"costs"`
	Running  []runningPython   `json:"running_pythons"`
	Pythons  []installedPython `json:"installed_pythons"`
	Unseen   []string          `json:"not_examined"`
	Actions  []action          `json:"actions"`

	one bool // only one Python was looked at
}

// The states of a finding.
const (
	stateOK      = "ok"
	stateMissing = "missing" // and needed: tracing is not possible
	stateReduced = "reduced" // tracing is possible, something is less exact or dearer
	stateUnknown = "unknown"
)

// finding is one thing the kernel, the privileges or the settings allow or not.
type finding struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	State  string `json:"state"`
	Detail string `json:"detail"`
}

// meterRung says which probe serves a meter here.
type meterRung struct {
	ID     string `json:"id"`
	Source string `json:"source"`
	Exact  bool   `json:"exact"`
	Bound  int64  `json:"bound"` // bytes for each thread, where it is not exact
}

// action is a problem and what to type against it.
type action struct {
	Problem string `json:"problem"`
	Command string `json:"command"` // "" where no command helps
}

// runDoctor looks at everything, or at the Python with this pid if it is not 0.
func runDoctor(ctx context.Context, o DoctorOptions, c console, pid int) error {
	if err := checkFormat(o.Format, "text", "json"); err != nil {
		return err
	}
	progress := startProgress(c.err, false, "looking")
	proc := process.FS{Helper: process.NewHelper(ctx)}
	defer proc.Helper.Close()
	d, err := examine(ctx, proc, !o.Quick && pid == 0, pid)
	progress.stop()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	if o.Format == "json" {
		e := json.NewEncoder(c.out)
		e.SetIndent("", "  ")
		err = e.Encode(d)
	} else {
		err = printDiagnosis(c.out, d)
	}
	if !d.Possible {
		err = errors.Join(errDoctor, err)
	}
	return err
}

// examine looks at everything, or at the machine and one Python. fs is where facts about the machine are read; with measure, what
// probes cost is measured where that is permitted.
func examine(ctx context.Context, fs process.FS, measure bool, pid int) (diagnosis, error) {
	facts := fs.Facts()
	d := diagnose(facts)
	if facts.BTF {
		d.features(ledger.InspectKernel())
	}
	if d.Possible {
		d.tryKernel(ctx, measure)
	} else {
		d.Unseen = append(d.Unseen, "whether the probes load, which of them the kernel offers, and what they cost: that takes root")
	}
	if pid != 0 {
		return d, d.judge(ctx, pid)
	}
	d.gpus(lookForGPUs(ctx, fs))
	d.lookAtRunning(ctx)
	d.lookAtFiles(ctx)
	d.advisePythons()
	return d, nil
}

// judge says of one running Python whether its cells can be seen.
func (d *diagnosis) judge(ctx context.Context, pid int) error {
	var r runningPython
	if err := look(ctx, &r, "python", pid); err != nil {
		return err
	}
	d.Running, d.one = append(d.Running, r), true
	d.advisePythons()
	if !r.Supported {
		d.add("windows", "windows", stateMissing, "%s", r.Reason)
		return nil
	}
	d.add("windows", "windows", stateOK, "cells of process %d can be seen", pid)
	return nil
}
