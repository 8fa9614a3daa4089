package attribution

import (
	"ipytracer/attribution/internal/course"
	"ipytracer/event"
)

// copied gives a window that is a copy of another tallies of its own.
func (a *allocations) copied(w *window) { w.tallies = a.holdings.copied(w.tallies) }

// forgo drops the tallies of a window.
func (a *allocations) forgo(w *window) {
	a.holdings.forgo(w.tallies)
	w.tallies = nil
}

// settle sums up a window's tallies.
func (a *allocations) settle(w *window) { a.holdings.settle(w.tallies, w.process.info.PID, w.keeps()) }

// shorten leaves of a window's tallies those that a report lists.
func (a *allocations) shorten(w *window) {
	for _, all := range w.tallies {
		s := all.done
		listed, rest := a.divided.divide(w.listing(), s)
		for _, y := range rest {
			s.stacks++
			s.rest.allocated += y.allocated
			s.rest.freed += y.freed
			s.rest.atPeak += y.atPeak
		}
		copy(s.tallies, listed) // in the same memory: the window is now turned into bytes, and then dropped
		s.tallies, s.isShort = s.tallies[:len(listed)], true
	}
}

// archived takes back the memory of a window's tallies.
func (a *allocations) archived(d *detail) {
	a.holdings.archived(d.tallies)
	d.tallies = nil
}

// keeps returns the number of stacks of each meter that a window keeps.
func (w *window) keeps() int {
	switch w.kind {
	case kindStatement:
		return maxKeptOfStatement
	case kindCell:
		return maxKeptOfCell
	}
	return maxKept
}

// beforeMove records the total of a meter when its first block moves in a window. The time between cells is not listed.
func (a *allocations) beforeMove(w *window, key course.Key) {
	if w.kind == kindBetween || a.untallied || w.tallies[key.Meter] != nil {
		return
	}
	if w.tallies == nil {
		w.tallies = map[event.Meter]*tallies{}
	}
	w.tallies[key.Meter] = a.holdings.tallies(key, w.isSettled)
}

// listing returns which allocations a window lists.
func (w *window) listing() listing {
	switch w.kind {
	case kindCell:
		return listingOfCell
	case kindStatement:
		return listingOfStatement
	}
	return listingOfSession
}
