package attribution

import "ipytracer/report"

// lent is memory for the window, or the time between cells, that is made for a printer that has done with it when it asks for the next.
type lent struct {
	window      report.Window
	between     report.Between
	maps        []map[string]report.Figure
	used        int
	lends       bool
	allocations []report.Allocation
	coverage    map[string]report.Coverage
}

// begin lends maps of figures from now on; those that were lent before are gone.
func (l *lent) begin() { l.used, l.lends = 0, true }

// end makes maps that whoever gets them may keep.
func (l *lent) end() { l.lends = false }

// figures is an empty map.
func (l *lent) figures() map[string]report.Figure {
	if !l.lends {
		return map[string]report.Figure{}
	}
	if l.used == len(l.maps) {
		l.maps = append(l.maps, map[string]report.Figure{})
	}
	one := l.maps[l.used]
	l.used++
	clear(one)
	return one
}

// covered is an empty map.
func (l *lent) covered() map[string]report.Coverage {
	if l.coverage == nil {
		l.coverage = map[string]report.Coverage{}
	}
	clear(l.coverage)
	return l.coverage
}
