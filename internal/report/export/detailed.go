package export

import (
	"cmp"
	"slices"

	"ipytracer/model"
)

// detailed calls visit for the windows of a report that have allocations: sessions, experiments and cells. A process
// that runs cells but was started by another process, such as a kernel by a server, has no session of its own. For each
// such process it visits a substitute at the end: see [kernel.session].
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
				kernelOf(kernels, w.PID).add(w)
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

// kernel is a process without a session of its own. It has, by meter, the memory at the highest peak of its cells.
type kernel struct{ highest map[string]highest }

// highest is the memory of one meter at the peak of a cell.
type highest struct {
	figure      model.Figure
	allocations []model.Allocation
	coverage    model.Coverage
	covered     bool // the cell has a coverage
}

// kernelOf returns the kernel of a process. It adds a new one to kernels if there is none.
func kernelOf(kernels map[int]*kernel, pid int) *kernel {
	if kernels[pid] == nil {
		kernels[pid] = &kernel{map[string]highest{}}
	}
	return kernels[pid]
}

// add keeps the memory of a cell for each meter whose peak is higher than in all cells before.
func (k *kernel) add(window *model.Window) {
	for id, f := range window.Meters {
		if f.Peak <= k.highest[id].figure.Peak {
			continue
		}
		h := highest{figure: f, allocations: slices.Clone(window.Allocations)}
		h.coverage, h.covered = window.Coverage[id]
		h.allocations = slices.DeleteFunc(h.allocations, func(a model.Allocation) bool { return a.Meter != id })
		for i := range h.allocations { // what the process allocated in all cells is not known
			h.allocations[i].Allocated, h.allocations[i].Count = 0, 0
		}
		h.coverage.UnlistedAllocated = 0
		k.highest[id] = h
	}
}

// session returns a session's window for the process, with its own peaks. The blocks are those at the highest peak of a
// cell, so the stacks of a peak that was in no cell are known only in part.
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
	slices.SortStableFunc(window.Allocations, func(a, b model.Allocation) int { return cmp.Compare(a.Meter, b.Meter) })
	return window
}
