package live

import (
	"cmp"
	"slices"
	"strings"

	"ipytracer/model"
)

// Bounds of the history of finished cells.
const (
	maxPast      = 256 // processes
	newestKept   = 400 // cells of a process, the newest
	heaviestKept = 100 // cells of a process, the heaviest
	maxText      = 400 // bytes of a source
)

// History has the finished cells of processes: the newest, and those with the largest need. It belongs to one
// goroutine.
type History struct {
	processes map[int]*past // by pid
}

// past has the cells of one process.
type past struct {
	newest   []model.Window // up to twice newestKept, the newest last
	heaviest []model.Window // the heaviest first
	count    int            // cells so far
}

// Add adds finished cells, in the order of their ends.
func (h *History) Add(cells []model.Window) {
	for i := range cells {
		window := &cells[i]
		p := h.processes[window.PID]
		if p == nil {
			if len(h.processes) == maxPast {
				continue
			}
			if h.processes == nil {
				h.processes = map[int]*past{}
			}
			p = &past{}
			h.processes[window.PID] = p
		}
		p.add(brief(window))
	}
}

// brief returns a copy of a cell without its children, allocations and refused requests, and with a short source.
func brief(window *model.Window) model.Window {
	cell := *window
	if len(cell.Source) > maxText {
		cell.Source, cell.SourceTruncated = strings.ToValidUTF8(cell.Source[:maxText], ""), true
	}
	cell.Source = strings.Clone(cell.Source)
	cell.Children, cell.Allocations, cell.Coverage, cell.Refused = []model.Child{}, nil, nil, nil
	return cell
}

// add adds a cell to the newest, and to the heaviest if it is one of them.
func (p *past) add(window model.Window) {
	p.count++
	if len(p.newest) == 2*newestKept { // removing the older half at once costs less than one cell at a time
		p.newest = append(p.newest[:0], p.newest[newestKept:]...)
	}
	p.newest = append(p.newest, window)
	// behind cells of the same weight: no comparison says that two are equal
	place, _ := slices.BinarySearchFunc(p.heaviest, weight(&window), func(x model.Window, weightOfNew int64) int {
		return cmp.Or(cmp.Compare(weightOfNew, weight(&x)), -1)
	})
	if place < heaviestKept {
		p.heaviest = slices.Insert(p.heaviest, place, window)
		p.heaviest = p.heaviest[:min(len(p.heaviest), heaviestKept)]
	}
}

// weight returns the largest need of a cell, of resident memory and of GPUs.
func weight(window *model.Window) (most int64) {
	for id, f := range window.Meters {
		if id == resident || isDriver(id) {
			most = max(most, f.Need())
		}
	}
	return most
}

// Of returns the kept cells of a process, the newest first, and the number of its other cells. With a limit above 0 it
// returns at most so many.
func (h *History) Of(pid, limit int) (cells []model.Window, more int) {
	p := h.processes[pid]
	if p == nil {
		return nil, 0
	}
	cells = slices.Clone(p.newest[max(0, len(p.newest)-newestKept):])
	for _, w := range p.heaviest {
		if len(cells) == 0 || w.ID < cells[0].ID { // it is older than the newest
			cells = append(cells, w)
		}
	}
	slices.SortFunc(cells, func(a, b model.Window) int { return cmp.Compare(b.ID, a.ID) })
	cells = slices.CompactFunc(cells, func(a, b model.Window) bool { return a.ID == b.ID })
	if limit > 0 {
		cells = cells[:min(len(cells), limit)]
	}
	return cells, p.count - len(cells)
}
