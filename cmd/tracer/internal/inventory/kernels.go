// Package inventory lists the traceable processes of this machine: kernels and other Pythons, and the GPUs with the
// processes that hold their memory. It looks into them from a process without rights if it can
// ([ipytracer/tracer/host/look]). The command prints the list and chooses from it.
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
	Notebook string `json:"notebook,omitempty"` // path of the notebook, by the kernel itself
	Cwd      string `json:"cwd"`
	Resident int64  `json:"resident"`
	GPUs     []int  `json:"gpus"`
	Command  string `json:"command"`

	Identity process.Identity `json:"-"`
	UID      uint32           `json:"-"`
	// Unlooked: there was no time to look into it. It may be a kernel.
	Unlooked bool `json:"-"`
	// Worker: by its arguments, which its user chooses, it is a worker of Dask, or a program that starts some.
	Worker bool `json:"-"`
}

// The names of the looks that a process without rights makes.
const (
	kernels = "kernels"
	workers = "workers"
	all     = "all"
)

// Looks are the looks that this process must support, by name ([look.For]).
var Looks = map[string]look.For{
	kernels: {Find: func(ctx context.Context, fs process.FS, _ int, _ string) (any, error) {
		return findKernels(ctx, fs, kernels)
	}},
	workers: {Find: func(ctx context.Context, fs process.FS, _ int, _ string) (any, error) {
		return findKernels(ctx, fs, workers)
	}},
	all: {Find: func(ctx context.Context, fs process.FS, _ int, _ string) (any, error) {
		return findKernels(ctx, fs, all)
	}},
}

// kernelList is the result of a look for kernels.
type kernelList struct {
	Rows   []foundKernel
	Hidden int // other users' Pythons that may not be read
}

// foundKernel is a row with fields that its public JSON lacks, or has in another form: JSON has no bytes that are not
// UTF-8.
type foundKernel struct {
	Row          Python
	Unlooked     bool
	Worker       bool
	Identity     process.Identity
	UID          uint32
	Cwd, Command []byte
}

// Kernels lists the running kernels, with their versions once they have begun; with others also Pythons that run no
// IPython. hidden is the number of other users' Pythons that may not be read.
func Kernels(ctx context.Context, others bool) (rows []Python, hidden int, err error) {
	if others {
		return list(ctx, all)
	}
	return list(ctx, kernels)
}

// Workers lists the running kernels as [Kernels] does, and the processes with the arguments of a worker of Dask.
func Workers(ctx context.Context) (rows []Python, err error) {
	rows, _, err = list(ctx, workers)
	return rows, err
}

// list makes a look, by its name.
func list(ctx context.Context, what string) (rows []Python, hidden int, err error) {
	var found kernelList
	if err := look.Ask(ctx, &found, what); err != nil {
		return nil, 0, err
	}
	rows = []Python{}
	for _, f := range found.Rows {
		row := f.Row
		row.Identity, row.UID, row.Unlooked, row.User = f.Identity, f.UID, f.Unlooked, process.UserName(f.UID)
		row.Worker = f.Worker
		row.Cwd, row.Command = string(f.Cwd), string(f.Command)
		rows = append(rows, row)
	}
	return rows, found.Hidden, nil
}

// findKernels finds them. The look is for kernels alone, for workers of Dask as well, or for all Pythons.
func findKernels(ctx context.Context, fs process.FS, what string) (found kernelList, err error) {
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
		if what != all && !kernel && !unlooked && (what != workers || !p.Worker) {
			continue
		}
		row := Python{
			PID: p.PID, Python: seen.Python, IPython: seen.IPython, Frontend: seen.Frontend, Notebook: seen.Notebook,
			Resident: p.ResidentBytes, GPUs: p.GPUs,
		}
		if row.GPUs == nil {
			row.GPUs = []int{}
		}
		found.Rows = append(found.Rows, foundKernel{
			Row: row, Unlooked: unlooked, Worker: p.Worker, Identity: p.Identity, UID: p.UID, Cwd: []byte(p.Cwd),
			Command: []byte(strings.Join(p.Command.Args, " ")),
		})
	}
	found.Hidden = listing.HiddenPythons
	return found, nil
}
