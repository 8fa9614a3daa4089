// Package inventory lists the traceable processes of this machine, and its GPUs. The processes are kernels and other
// Pythons; each GPU has the processes that hold its memory. The package looks into processes from a process without
// rights if it can ([ipytracer/internal/host/look]). The command prints the list and chooses from it.
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
	Rows      []Python // in the order of process IDs
	Hidden    int      // number of other users' Pythons that this user may not look into
	Processes int      // number of processes
	Cut       int      // number of Pythons, by name, for which there was no time; any of them may be a kernel
}

const (
	maxProcessor = 5 * time.Second  // processor time of all looks
	maxTime      = 15 * time.Second // for a list, on a machine without free processors
)

// List lists the running kernels, and with others also Pythons that run no IPython. It leaves out processes of a user
// whose looks exceed [forList]. When the time is over, it returns what it has found.
func List(ctx context.Context, others bool) (Listing, error) {
	kind := lookKernels
	if others {
		kind = lookAll
	}
	candidates, pythonNames, err := candidatesOf(process.FS{})
	if err != nil {
		return Listing{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	found := make(chan Finding, len(candidates))
	finder := newFinder(ctx, kind, forList, func(f Finding) { found <- f })
	finder.Look(candidates...)
	return collect(ctx, finder, found, candidates, pythonNames)
}

// candidatesOf returns all processes, and the process IDs of those whose name is a Python's.
func candidatesOf(fs process.FS) (candidates []Candidate, pythonNames map[int]bool, err error) {
	stats, err := fs.Stats()
	if err != nil {
		return nil, nil, err
	}
	pythonNames = map[int]bool{}
	for _, st := range stats {
		if st.Ended() || st.KernelThread() {
			continue
		}
		c := Candidate{Identity: process.Identity{PID: st.PID, StartTicks: st.StartTicks}}
		status, err := fs.Proc(st.PID).Status()
		if err != nil {
			continue // the process has ended
		}
		c.Holder.UID = status.UID
		candidates = append(candidates, c)
		pythonNames[st.PID] = fs.NamedLikePython(st)
	}
	return candidates, pythonNames, nil
}

// collect makes a list of the findings, until all candidates are examined, no worker is left, or the time is over.
func collect(ctx context.Context, f *Finder, found <-chan Finding, candidates []Candidate, pythonNames map[int]bool) (
	list Listing, err error) {
	list = Listing{Rows: []Python{}, Processes: len(candidates)}
	unexamined := map[int]bool{}
	for _, c := range candidates {
		unexamined[c.PID] = true
	}
	var took time.Duration
	add := func(finding Finding) {
		took += finding.Took
		err = cmp.Or(err, finding.Err)
		if !finding.Cut {
			delete(unexamined, finding.PID)
		}
		if finding.Hidden {
			list.Hidden++
		}
		if finding.Python != nil {
			list.Rows = append(list.Rows, *finding.Python)
		}
	}
	for idle := false; len(unexamined) > 0 && !idle && err == nil && took < maxProcessor; {
		select {
		case finding := <-found:
			add(finding)
		case <-f.idle:
			idle = true
		case <-ctx.Done():
			idle = true
		}
	}
	for len(found) > 0 {
		add(<-found)
	}
	for pid := range unexamined {
		if pythonNames[pid] {
			list.Cut++
		}
	}
	slices.SortFunc(list.Rows, func(a, b Python) int { return cmp.Compare(a.PID, b.PID) })
	return list, err
}
