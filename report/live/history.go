package live

import (
	"cmp"
	"slices"
	"strings"

	"ipytracer/model"
)

// Bounds of what is remembered of cells that are over.
const (
	maxPast     = 256 // processes
	newestKept  = 400 // cells of each
	heaviestTop = 100
	maxText     = 400 // bytes of a source
)

// History has the cells of processes that are over: the newest, and those that needed most. It is of one goroutine.
type History struct {
	of map[int]*past
}

// past are the cells of one process.
type past struct {
	newest   []model.Window // the newest last
	heaviest []model.Window // the heaviest first
	count    int
}

// Add takes cells in that have ended, in the order they did.
func (h *History) Add(cells []model.Window) {
	for i := range cells {
		w := &cells[i]
		p := h.of[w.PID]
		if p == nil {
			if len(h.of) == maxPast {
				continue
			}
			if h.of == nil {
				h.of = map[int]*past{}
			}
			p = &past{}
			h.of[w.PID] = p
		}
		p.add(brief(w))
	}
}

// brief is what is remembered of a cell.
func brief(w *model.Window) model.Window {
	c := *w
	if len(c.Source) > maxText {
		c.Source, c.SourceTruncated = strings.ToValidUTF8(c.Source[:maxText], ""), true
	}
	c.Source = strings.Clone(c.Source)
	c.Children, c.Allocations, c.Coverage, c.Refused = []model.Child{}, nil, nil, nil
	return c
}

func (p *past) add(w model.Window) {
	p.count++
	if len(p.newest) == 2*newestKept {
		p.newest = append(p.newest[:0], p.newest[newestKept:]...)
	}
	p.newest = append(p.newest, w)
	at, _ := slices.BinarySearchFunc(p.heaviest, weight(&w), func(x model.Window, to int64) int { return cmp.Or(cmp.Compare(to, weight(&x)), -1) })
	if at < heaviestTop {
		p.heaviest = slices.Insert(p.heaviest, at, w)
		p.heaviest = p.heaviest[:min(len(p.heaviest), heaviestTop)]
	}
}

// weight is what a cell needed, of the meter of which it needed most.
func weight(w *model.Window) (most int64) {
	for id, f := range w.Meters {
		if id == resident || isDriver(id) {
			most = max(most, f.Need())
		}
	}
	return most
}

// Of are the cells of a process, the newest first, so many at most, and how many more there were. 0 is no limit.
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
