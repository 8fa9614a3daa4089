package doctor

import (
	"context"
	"fmt"

	"ipytracer/internal/host/look"
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

func (d *Diagnosis) add(id, name, state, format string, args ...any) {
	d.Checks = append(d.Checks, Finding{ID: id, Name: name, State: state, Detail: fmt.Sprintf(format, args...)})
	if state == Missing {
		d.Possible = false
	}
}

func (d *Diagnosis) advise(command, problem string, args ...any) {
	d.Actions = append(d.Actions, Action{Problem: fmt.Sprintf(problem, args...), Command: command})
}

// ask asks a process without rights to look. If it cannot, found stays as it is, and the diagnosis says which look is
// missing.
func (d *Diagnosis) ask(ctx context.Context, found any, what, title string) {
	if err := look.Ask(ctx, found, what); err != nil {
		d.Unseen = append(d.Unseen, fmt.Sprintf("%s: %v", title, err))
	}
}

// The names of the looks that a process without rights makes for the doctor.
const (
	runningPythons = "pythons"
	onePython      = "python"
	files          = "files"
)

// Cost is the added time of a probe for one operation, on this machine, now.
type Cost struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Base is the operation without any probe, Added the probe's addition to it. Both are nanoseconds, medians over
	// pairs, each of the quickest of some rounds.
	Base  float64 `json:"base_ns"`
	Added float64 `json:"added_ns"`
	// Low and High are the quartiles of Added: a wide range says that the machine was busy.
	Low  float64 `json:"added_low_ns"`
	High float64 `json:"added_high_ns"`
	// Ratio is the operation with the probe over the operation without, the median over pairs; 0 where there is
	// no operation to compare with.
	Ratio float64 `json:"ratio"`
}

// RunningPython is a Python process.
type RunningPython struct {
	PID       int          `json:"pid"`
	User      string       `json:"user"`
	Python    string       `json:"python"`
	IPython   string       `json:"ipython"`
	Frontend  string       `json:"frontend"`
	Supported bool         `json:"supported"`
	Reason    string       `json:"reason"`
	Probes    []ProbeSites `json:"probes"`
	Statement bool         `json:"statement_windows"`
}

// InstalledPython is an interpreter on disk.
type InstalledPython struct {
	Path        string       `json:"path"`
	Interpreter string       `json:"interpreter"` // the file that holds it: itself or its libpython
	Version     string       `json:"version"`
	Supported   bool         `json:"supported"`
	Reason      string       `json:"reason"` // why not
	Statements  bool         `json:"statement_windows"`
	Probes      []ProbeSites `json:"probes"`
}

// ProbeSites are the places of the probes of one group.
type ProbeSites struct {
	Group string   `json:"group"`
	Found bool     `json:"found"`
	Sites []string `json:"sites"` // symbol+delta
	// Emulated: the kernel emulates the instruction under every one of them, which makes a hit cheap.
	Emulated bool `json:"emulated"`
}
