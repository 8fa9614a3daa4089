package export

import (
	"slices"

	"ipytracer/model"
)

// detailed iterates over the windows of a report that have allocations: sessions, experiments and cells. A process that
// runs cells and was started by another, such as a kernel by a server, has no session of its own: its substitute comes
// last, see [kernel].
func detailed(report *model.Report, visit func(*model.Window)) {
	kernels, own := map[int]*kernel{}, map[int]bool{}
	for w := range report.AllPassing() {
		if w.Kind == model.Statement {
			continue
		}
		if report.Detail != nil {
			report.Detail(w)
		}
		switch w.Kind {
		case model.Session:
			own[w.PID] = true
			delete(kernels, w.PID)
		case model.Cell:
			if !own[w.PID] {
				kernelOf(kernels, w.PID).take(w)
			}
		}
		visit(w)
	}
	for i := range report.Processes {
		process := &report.Processes[i]
		if k := kernels[process.PID]; k != nil {
			delete(kernels, process.PID)
			visit(k.session(process))
		}
	}
}

// kernel is a process without a session of its own: by meter, the memory at the highest peak of its cells.
type kernel struct{ highest map[string]highest }

type highest struct {
	figure      model.Figure
	allocations []model.Allocation
	coverage    model.Coverage
	covered     bool
}

func kernelOf(all map[int]*kernel, pid int) *kernel {
	if all[pid] == nil {
		all[pid] = &kernel{map[string]highest{}}
	}
	return all[pid]
}

func (k *kernel) take(window *model.Window) {
	for id, f := range window.Meters {
		if f.Peak <= k.highest[id].figure.Peak {
			continue
		}
		h := highest{figure: f, allocations: slices.Clone(window.Allocations)}
		h.coverage, h.covered = window.Coverage[id]
		h.allocations = slices.DeleteFunc(h.allocations, func(a model.Allocation) bool { return a.Meter != id })
		for i := range h.allocations { // those of the cell: the process's total is not known
			h.allocations[i].Allocated, h.allocations[i].Count = 0, 0
		}
		h.coverage.UnlistedAllocated = 0
		k.highest[id] = h
	}
}

// session returns the process's whole life with its own peaks. If a peak was in no cell, memory beyond the highest
// cell's is not known.
func (k *kernel) session(process *model.Process) *model.Window {
	window := &model.Window{
		Kind: model.Session, PID: process.PID, Status: model.OK, StartNS: process.StartNS,
		DurationNS: process.EndNS - process.StartNS,
		Meters:     process.Meters, Coverage: map[string]model.Coverage{},
	}
	for id, h := range k.highest {
		window.Allocations = append(window.Allocations, h.allocations...)
		if h.covered {
			window.Coverage[id] = h.coverage
		}
	}
	slices.SortStableFunc(window.Allocations, func(allocation, b model.Allocation) int {
		if allocation.Meter < b.Meter {
			return -1
		} else if allocation.Meter > b.Meter {
			return 1
		}
		return 0
	})
	return window
}
