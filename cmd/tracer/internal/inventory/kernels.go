// Package inventory lists what can be traced on this machine now: kernels and other Pythons, and the GPUs with the processes that
// hold their memory. It looks into them from a process without rights where it can ([ipytracer/tracer/look]); how a list is
// printed, and which of them is chosen, is the command's business.
package inventory

import (
	"context"
	"strings"

	"ipytracer/tracer"
	"ipytracer/tracer/host/look"
	"ipytracer/tracer/host/process"
)

// Python is a running Python. Its JSON is public; its texts are hostile.
type Python struct {
	PID      int    `json:"pid"`
	User     string `json:"user"`
	Python   string `json:"python"`
	IPython  string `json:"ipython"`
	Frontend string `json:"frontend"`
	Notebook string `json:"notebook,omitempty"` // the path of the one that it says it runs
	Cwd      string `json:"cwd"`
	Resident int64  `json:"resident"`
	GPUs     []int  `json:"gpus"`
	Command  string `json:"command"`

	Identity process.Identity `json:"-"`
	// Unlooked: there was no time to look into it. It may be a kernel.
	Unlooked bool `json:"-"`
}

// The names of what is looked for by a process without rights.
const (
	kernels = "kernels"
	all     = "all"
)

// Looks are what that process must be able to look for, by name ([look.For]).
var Looks = map[string]look.For{
	kernels: {Find: func(ctx context.Context, fs process.FS, _ int, _ string) (any, error) {
		return findKernels(ctx, fs, false)
	}},
	all: {Find: func(ctx context.Context, fs process.FS, _ int, _ string) (any, error) {
		return findKernels(ctx, fs, true)
	}},
}

// kernelList is what a look for kernels finds.
type kernelList struct {
	Rows   []foundKernel
	Hidden int // Pythons of others that may not be looked into
}

// foundKernel is a row with what its public JSON has not, or not as it is: JSON has no bytes that are no UTF-8.
type foundKernel struct {
	Row          Python
	Unlooked     bool
	Identity     process.Identity
	UID          uint32
	Cwd, Command []byte
}

// Kernels lists those that run, with the versions of those that have begun; with others also Pythons that run no IPython. hidden is how many
// Pythons of other users may not be looked into.
func Kernels(ctx context.Context, others bool) (rows []Python, hidden int, err error) {
	what := kernels
	if others {
		what = all
	}
	var found kernelList
	if err := look.Ask(ctx, &found, what); err != nil {
		return nil, 0, err
	}
	rows = []Python{}
	for _, f := range found.Rows {
		row := f.Row
		row.Identity, row.Unlooked, row.User, row.Cwd, row.Command = f.Identity, f.Unlooked, process.UserName(f.UID), string(f.Cwd), string(f.Command)
		rows = append(rows, row)
	}
	return rows, found.Hidden, nil
}

// findKernels looks for them. others: also for Pythons that run no IPython.
func findKernels(ctx context.Context, fs process.FS, others bool) (found kernelList, err error) {
	listing, err := fs.Pythons(ctx, tracer.IsPython)
	if err != nil {
		return found, err
	}
	describer := tracer.NewDescriber(fs)
	defer describer.Close()
	for _, p := range listing.Pythons {
		seen, err := describer.Describe(p)
		unlooked := err != nil && ctx.Err() != nil
		kernel := seen.IPython != "" || p.Kind != process.Script
		if !others && !kernel && !unlooked {
			continue
		}
		row := Python{
			PID: p.PID, Python: seen.Python, IPython: seen.IPython, Frontend: seen.Frontend, Notebook: seen.Notebook, Resident: p.ResidentBytes, GPUs: p.GPUs,
		}
		if row.GPUs == nil {
			row.GPUs = []int{}
		}
		found.Rows = append(found.Rows, foundKernel{
			Row: row, Unlooked: unlooked, Identity: p.Identity, UID: p.UID, Cwd: []byte(p.Cwd), Command: []byte(strings.Join(p.Command.Args, " ")),
		})
	}
	found.Hidden = listing.HiddenPythons
	return found, nil
}
