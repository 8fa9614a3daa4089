package doctor

import (
	"context"
	"fmt"

	"ipytracer/cmd/tracer/internal/inventory"
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

	onlyOne bool // the examination was of one Python, and of no other
}

// The states of a finding.
const (
	OK      = "ok"
	Missing = "missing" // and needed: tracing is not possible
	Reduced = "reduced" // tracing is possible, but less exact or more expensive
	Unknown = "unknown"
)

// Finding is the judgement of one feature, privilege or setting.
type Finding struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	State  string `json:"state"`
	Detail string `json:"detail"`
}

// MeterRung names the source of a meter's figures on this machine.
type MeterRung struct {
	ID     string `json:"id"`
	Source string `json:"source"`
	Exact  bool   `json:"exact"`
	Bound  int64  `json:"bound"` // bytes for each thread, if the figures are not exact; -1 for samples
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

// askLook makes a process without rights look, and decodes its answer into found. If that fails, it notes the look as
// unseen, and leaves found unchanged.
func (d *Diagnosis) askLook(ctx context.Context, found any, what, title string) {
	if err := inventory.AskLook(ctx, found, what); err != nil {
		d.Unseen = append(d.Unseen, fmt.Sprintf("%s: %v", title, err))
	}
}

// The names of the looks that a process without rights makes for the doctor.
const (
	runningPythons = "pythons"
	onePython      = "python"
	files          = "files"
)

// Cost is the measured cost of a probe for one operation.
type Cost struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Base is the time of the operation without any probe, in ns: a median over pairs of measurements.
	Base float64 `json:"base_ns"`
	// Added is the time that the probe adds, in ns: a median over pairs.
	Added float64 `json:"added_ns"`
	// Low and High are the quartiles of Added: a wide range says that the machine was busy.
	Low  float64 `json:"added_low_ns"`
	High float64 `json:"added_high_ns"`
	// Ratio is the time with the probe divided by the time without, a median over pairs; 0 if only Added was measured.
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
	Interpreter string       `json:"interpreter"` // the file that has the interpreter: Path's target, or its libpython
	Version     string       `json:"version"`
	Supported   bool         `json:"supported"`
	Reason      string       `json:"reason"` // why it is not supported
	Statements  bool         `json:"statement_windows"`
	Probes      []ProbeSites `json:"probes"`
}

// ProbeSites are the places of the probes of one group.
type ProbeSites struct {
	Group string   `json:"group"`
	Found bool     `json:"found"`
	Sites []string `json:"sites"` // symbol+delta
	// Emulated says that Linux emulates the instruction at each place, which makes a hit cheap.
	Emulated bool `json:"emulated"`
}
