package blocks

import (
	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/stacks"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
)

// Copied gives a window, which is a copy of another one, tallies of its own.
func (a *Blocks) Copied(w *windows.Window) { w.Tallies = a.Holdings.Copied(w.Tallies) }

// Forgo drops the tallies of a window.
func (a *Blocks) Forgo(w *windows.Window) {
	a.Holdings.Forgo(w.Tallies)
	w.Tallies = nil
}

// Settle sums up a window's tallies.
func (a *Blocks) Settle(w *windows.Window) {
	a.Holdings.Settle(w.Tallies, w.Process.Info.PID, w.Keeps())
}

// Shorten drops the tallies of a window that a report does not list, and adds them to the sum of the rest.
func (a *Blocks) Shorten(w *windows.Window) {
	for _, tallies := range w.Tallies {
		summary := tallies.Done
		listed, dropped := a.Merger.Divide(w.Listing(), summary)
		for _, one := range dropped {
			summary.Stacks++
			summary.Rest.Allocated += one.Allocated
			summary.Rest.Freed += one.Freed
			summary.Rest.AtPeak += one.AtPeak
		}
		// The list stays in its memory: the window is now turned into bytes, and then dropped.
		copy(summary.Tallies, listed)
		summary.Tallies, summary.IsShort = summary.Tallies[:len(listed)], true
	}
}

// Archived takes back the memory of a window's tallies.
func (a *Blocks) Archived(d *windows.Detail) {
	a.Holdings.Archived(d.Tallies)
	d.Tallies = nil
}

// beforeMove records the total of a meter when its first block moves in a window. The time between cells is not listed.
func (a *Blocks) beforeMove(w *windows.Window, key course.Key) {
	if w.Kind == windows.KindBetween || a.Flow != nil || w.Tallies[key.Meter] != nil {
		return
	}
	if w.Tallies == nil {
		w.Tallies = map[event.Meter]*stacks.Tallies{}
	}
	w.Tallies[key.Meter] = a.Holdings.Tallies(key, w.IsSettled)
}

// A window lists the stacks that allocated, for those meters of which a block moved in the window. A cell that only
// uses blocks of earlier cells moves none, and can be the highest of the session all the same. The blocks that fill the
// memory at that time are the first thing to look for in a report. So a cell that is the highest of its process so far
// when it is over also lists the blocks that stood throughout.

// Keeps reports that all windows are kept.
func (a *Blocks) Keeps(windows.WindowKind) bool { return true }

// Closed handles a cell that closes. If the cell is the highest so far, it gets tallies of the meters that did not move
// in it.
func (a *Blocks) Closed(w *windows.Window) {
	if a.Flow != nil || w.Kind != windows.KindCell || w.Uncounted || w.IsSettled || !w.Process.RisesTo(w) {
		return
	}
	for _, m := range a.GPUs.Meters {
		key := course.Key{PID: w.Process.Info.PID, Meter: m}
		if held := a.Holdings.Held[key]; !m.Facts().InBlocks() || held == nil || held.Total <= 0 ||
			w.Tallies[m] != nil {
			continue
		}
		a.beforeMove(w, key)
		w.Tallies[m].IsStanding = true
	}
}
