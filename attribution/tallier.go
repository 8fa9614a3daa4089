package attribution

import (
	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/stacks"
	"ipytracer/event"
)

// copied gives a window that is a copy of another tallies of its own.
func (a *allocations) copied(w *window) { w.tallies = a.Holdings.Copied(w.tallies) }

// forgo drops the tallies of a window.
func (a *allocations) forgo(w *window) {
	a.Holdings.Forgo(w.tallies)
	w.tallies = nil
}

// settle sums up a window's tallies.
func (a *allocations) settle(w *window) { a.Holdings.Settle(w.tallies, w.process.info.PID, w.keeps()) }

// shorten leaves of a window's tallies those that a report lists.
func (a *allocations) shorten(w *window) {
	for _, all := range w.tallies {
		s := all.Done
		listed, rest := a.divided.Divide(w.listing(), s)
		for _, y := range rest {
			s.Stacks++
			s.Rest.Allocated += y.Allocated
			s.Rest.Freed += y.Freed
			s.Rest.AtPeak += y.AtPeak
		}
		copy(s.Tallies, listed) // in the same memory: the window is now turned into bytes, and then dropped
		s.Tallies, s.IsShort = s.Tallies[:len(listed)], true
	}
}

// archived takes back the memory of a window's tallies.
func (a *allocations) archived(d *detail) {
	a.Holdings.Archived(d.tallies)
	d.tallies = nil
}

// beforeMove records the total of a meter when its first block moves in a window. The time between cells is not listed.
func (a *allocations) beforeMove(w *window, key course.Key) {
	if w.kind == kindBetween || a.untallied || w.tallies[key.Meter] != nil {
		return
	}
	if w.tallies == nil {
		w.tallies = map[event.Meter]*stacks.Tallies{}
	}
	w.tallies[key.Meter] = a.Holdings.Tallies(key, w.isSettled)
}
