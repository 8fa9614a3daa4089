package live

import (
	"cmp"
	"slices"
	"strings"

	"ipytracer/model"
)

// Bounds of the history of finished cells.
const (
	maxPast     = 256 // processes
	newestKept  = 400 // cells of each
	heaviestTop = 100
	maxText     = 400 // bytes of a source
)

// History has the finished cells of processes: the newest, and those with the largest need. It belongs to one
// goroutine.
type History struct {
	of map[int]*past
}

// past are the cells of one process.
type past struct {
	newest   []model.Window // the newest last
	heaviest []model.Window // the heaviest first
	count    int
}

// Add adds finished cells, in the order of their ends.
func (h *History) Add(cells []model.Window) {
	for i := range cells {
		window := &cells[i]
		p := h.of[window.PID]
		if p == nil {
			if len(h.of) == maxPast {
				continue
			}
			if h.of == nil {
				h.of = map[int]*past{}
			}
			p = &past{}
			h.of[window.PID] = p
		}
		p.add(brief(window))
	}
}

// brief returns the parts of a cell that are kept.
func brief(window *model.Window) model.Window {
	cell := *window
	if len(cell.Source) > maxText {
		cell.Source, cell.SourceTruncated = strings.ToValidUTF8(cell.Source[:maxText], ""), true
	}
	cell.Source = strings.Clone(cell.Source)
	cell.Children, cell.Allocations, cell.Coverage, cell.Refused = []model.Child{}, nil, nil, nil
	return cell
}

func (p *past) add(window model.Window) {
	p.count++
	if len(p.newest) == 2*newestKept {
		p.newest = append(p.newest[:0], p.newest[newestKept:]...)
	}
	p.newest = append(p.newest, window)
	at, _ := slices.BinarySearchFunc(p.heaviest, weight(&window), func(x model.Window, to int64) int {
		return cmp.Or(cmp.Compare(to, weight(&x)), -1)
	})
	if at < heaviestTop {
		p.heaviest = slices.Insert(p.heaviest, at, window)
		p.heaviest = p.heaviest[:min(len(p.heaviest), heaviestTop)]
	}
}

// weight returns the largest need of a cell, of any meter.
func weight(window *model.Window) (most int64) {
	for id, f := range window.Meters {
		if id == resident || isDriver(id) {
			most = max(most, f.Need())
		}
	}
	return most
}

// Of returns the cells of a process, the newest first, up to a number, and the number of the others. 0 is no limit.
func (h *History) Of(pid, limit int) (cells []model.Window, more int) {
	p := h.of[pid]
	if p == nil {
		return nil, 0
	}
	cells = slices.Clone(p.newest[max(0, len(p.newest)-newestKept):])
	for _, w := range p.heaviest {
		if len(cells) == 0 || w.ID < cells[0].ID {
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
