package rows

import "ipytracer/model"

// reused is memory for the window, or the time between cells, that is made for a printer. The printer is done with it
// when it asks for the next.
type reused struct {
	Window      model.Window
	Between     model.Between
	maps        []map[string]model.Figure
	used        int
	isOn        bool
	Allocations []model.Allocation
	Coverage    map[string]model.Coverage
}

// Begin lends maps of figures from now on; maps that were lent before are no longer valid.
func (l *reused) Begin() { l.used, l.isOn = 0, true }

// End makes maps that the caller may keep, from now on.
func (l *reused) End() { l.isOn = false }

// figures returns an empty map.
func (l *reused) figures() map[string]model.Figure {
	if !l.isOn {
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

// Covered returns an empty map.
func (l *reused) Covered() map[string]model.Coverage {
	if l.Coverage == nil {
		l.Coverage = map[string]model.Coverage{}
	}
	clear(l.Coverage)
	return l.Coverage
}
