package attribution

import "ipytracer/model"

// lent is memory for the window, or the time between cells, that is made for a printer. The printer is done with it
// when it asks for the next.
type lent struct {
	window      model.Window
	between     model.Between
	maps        []map[string]model.Figure
	used        int
	lends       bool
	allocations []model.Allocation
	coverage    map[string]model.Coverage
}

// begin lends maps of figures from now on; maps that were lent before are no longer valid.
func (l *lent) begin() { l.used, l.lends = 0, true }

// end makes maps that the caller may keep, from now on.
func (l *lent) end() { l.lends = false }

// figures returns an empty map.
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

// covered returns an empty map.
func (l *lent) covered() map[string]model.Coverage {
	if l.coverage == nil {
		l.coverage = map[string]model.Coverage{}
	}
	clear(l.coverage)
	return l.coverage
}
