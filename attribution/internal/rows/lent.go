package rows

import "ipytracer/model"

// reused is memory for the window, or the time between cells, that a printer has asked for. It is used again when the
// printer asks for the next one.
type reused struct {
	Window      model.Window
	Between     model.Between
	maps        []map[string]model.Figure
	used        int
	isOn        bool
	Allocations []model.Allocation
	Coverage    map[string]model.Coverage
}

// Begin makes figures return maps of the reused memory from now on. Maps that it returned before are no longer valid.
func (l *reused) Begin() { l.used, l.isOn = 0, true }

// End makes figures return new maps, which the caller may keep, from now on.
func (l *reused) End() { l.isOn = false }

// figures returns an empty map of figures.
func (l *reused) figures() map[string]model.Figure {
	if !l.isOn {
		return map[string]model.Figure{}
	}
	if l.used == len(l.maps) {
		l.maps = append(l.maps, map[string]model.Figure{})
	}
	figures := l.maps[l.used]
	l.used++
	clear(figures)
	return figures
}

// Covered returns an empty map of coverage, always in the same memory.
func (l *reused) Covered() map[string]model.Coverage {
	if l.Coverage == nil {
		l.Coverage = map[string]model.Coverage{}
	}
	clear(l.Coverage)
	return l.Coverage
}
