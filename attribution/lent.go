package attribution

import "ipytracer/model"

// lent is memory for the window, or the time between cells, that is made for a printer that has done with it when it
// asks for the next.
type lent struct {
	window      model.Window
	between     model.Between
	maps        []map[string]model.Figure
	used        int
	lends       bool
	allocations []model.Allocation
	coverage    map[string]model.Coverage
}

// begin lends maps of figures from now on; those that were lent before are gone.
func (l *lent) begin() { l.used, l.lends = 0, true }

// end makes maps that whoever gets them may keep.
func (l *lent) end() { l.lends = false }

// figures is an empty map.
func (l *lent) figures() map[string]model.Figure {
	if !l.lends {
		return map[string]model.Figure{}
	}
	if l.used == len(l.maps) {
		l.maps = append(l.maps, map[string]model.Figure{})
	}
	one := l.maps[l.used]
	l.used++
	clear(one)
	return one
}

// covered is an empty map.
func (l *lent) covered() map[string]model.Coverage {
	if l.coverage == nil {
		l.coverage = map[string]model.Coverage{}
	}
	clear(l.coverage)
	return l.coverage
}
