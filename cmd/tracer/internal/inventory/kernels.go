// Package inventory lists the traceable processes of this machine: kernels and other Pythons, and the GPUs with the
// processes that hold their memory. It looks into them from a process without rights if it can
// ([ipytracer/internal/host/look]). The command prints the list and chooses from it.
package inventory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"ipytracer/internal/host/process"
)

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
