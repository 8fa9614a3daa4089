// Package inventory lists the traceable processes of this machine: kernels and other Pythons, and the GPUs with the
// processes that hold their memory. It looks into them from a process without rights if it can
// ([ipytracer/internal/host/look]). The command prints the list and chooses from it.
package inventory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"ipytracer/internal/host/look"
	"ipytracer/internal/host/process"
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
	// Worker and Kernel: by its arguments, which its user chooses, it is a worker of Dask or a program that starts
	// some, and a kernel or IPython.
	Worker, Kernel bool `json:"-"`
}

// The names of the looks that a process without rights makes.
const (
	kernels = "kernels"
	workers = "workers"
	all     = "all"
)

// Looks are the looks that this process must support, by name ([look.For]).
var Looks = map[string]look.For{
	kernels: {Examiner: examinerOf(kernels)},
	workers: {Examiner: examinerOf(workers)},
	all:     {Examiner: examinerOf(all)},
}

// foundKernel is a row with fields that its public JSON lacks, or has in another form: JSON has no bytes that are not
// UTF-8.
type foundKernel struct {
	Row            Python
	Worker, Kernel bool
	Identity       process.Identity
	UID            uint32
	Cwd, Command   []byte
}

// python returns the row with all its fields.
func (f *foundKernel) python() *Python {
	row := f.Row
	row.Identity, row.UID, row.User = f.Identity, f.UID, process.UserName(f.UID)
	row.Worker, row.Kernel = f.Worker, f.Kernel
	row.Cwd, row.Command = string(f.Cwd), string(f.Command)
	return &row
}

// Listing is the result of a look at all processes.
type Listing struct {
	Rows   []Python // by pid
	Hidden int      // other users' Pythons that may not be read
	// Processes is how many there were. Of these, Cut are Pythons by name for which there was no time; any of them may
	// be a kernel.
	Processes, Cut int
}

const (
	// maxProcessor is the processor time for all processes together, and maxTime bounds a list on a machine that has
	// none to give.
	maxProcessor = 5 * time.Second
	maxTime      = 15 * time.Second
)

// List lists the running kernels, with their versions once they have begun; with others also Pythons that run no
// IPython. Beyond [ofList], the processes of one user are not looked at. What was found when the time is over stays.
func List(ctx context.Context, others bool) (Listing, error) {
	what := kernels
	if others {
		what = all
	}
	candidates, named, err := candidatesOf(process.FS{})
	if err != nil {
		return Listing{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	found := make(chan Finding, len(candidates))
	finder := newFinder(ctx, what, ofList, func(one Finding) { found <- one })
	finder.Look(candidates...)
	return collect(ctx, finder, found, candidates, named)
}

// candidatesOf returns all processes, and which of them have a name of Python's.
func candidatesOf(fs process.FS) (candidates []Candidate, named map[int]bool, err error) {
	stats, err := fs.Stats()
	if err != nil {
		return nil, nil, err
	}
	named = map[int]bool{}
	for _, st := range stats {
		if st.Ended() || st.KernelThread() {
			continue
		}
		c := Candidate{Identity: process.Identity{PID: st.PID, StartTicks: st.StartTicks}}
		status, err := fs.Proc(st.PID).Status()
		if err != nil {
			continue // it has ended
		}
		c.Holder.UID = status.UID
		candidates = append(candidates, c)
		named[st.PID] = fs.NamedLikePython(st)
	}
	return candidates, named, nil
}

// collect takes in findings until there are no more, or the time is over.
func collect(ctx context.Context, f *Finder, found <-chan Finding, candidates []Candidate, named map[int]bool) (
	list Listing, err error) {
	list = Listing{Rows: []Python{}, Processes: len(candidates)}
	left := map[int]bool{}
	for _, c := range candidates {
		left[c.PID] = true
	}
	var took time.Duration
	take := func(one Finding) {
		took += one.Took
		err = cmp.Or(err, one.Err)
		if !one.Cut {
			delete(left, one.PID)
		}
		if one.Hidden {
			list.Hidden++
		}
		if one.Python != nil {
			list.Rows = append(list.Rows, *one.Python)
		}
	}
	for idle := false; len(left) > 0 && !idle && err == nil && took < maxProcessor; {
		select {
		case one := <-found:
			take(one)
		case <-f.idle:
			idle = true
		case <-ctx.Done():
			idle = true
		}
	}
	for len(found) > 0 {
		take(<-found)
	}
	for pid := range left {
		if named[pid] {
			list.Cut++
		}
	}
	slices.SortFunc(list.Rows, func(a, b Python) int { return cmp.Compare(a.PID, b.PID) })
	return list, err
}
