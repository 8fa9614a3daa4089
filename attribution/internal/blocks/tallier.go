package blocks

import (
	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/stacks"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
)

// Copied gives a window, which is a copy of another one, tallies of its own.
func (a *Blocks) Copied(w *windows.Window) { w.Tallies = a.Holdings.Copy(w.Tallies) }

// Forgo drops the tallies of a window.
func (a *Blocks) Forgo(w *windows.Window) {
	a.Holdings.Forgo(w.Tallies)
	w.Tallies = nil
}

// Settle sums up a window's tallies.
func (a *Blocks) Settle(w *windows.Window) {
	a.Holdings.Settle(w.Tallies, w.Process.Info.PID, w.MaxStacks())
}

// Shorten drops the tallies of a window that a report does not list, and adds them to the sum of the rest.
func (a *Blocks) Shorten(w *windows.Window) {
	for _, tallies := range w.Tallies {
		summary := tallies.Done
		listed, dropped := a.Merger.Divide(w.Listing(), summary)
		for _, sum := range dropped {
			summary.Stacks++
			summary.Rest.Allocated += sum.Allocated
			summary.Rest.Freed += sum.Freed
			summary.Rest.AtPeak += sum.AtPeak
		}
		// The list stays in its memory: the window is now turned into bytes, and then dropped.
		copy(summary.Tallies, listed)
		summary.Tallies, summary.IsShort = summary.Tallies[:len(listed)], true
	}
}

// Archived takes back the memory of a window's tallies.
func (a *Blocks) Archived(d *windows.Detail) {
	a.Holdings.Reuse(d.Tallies)
	d.Tallies = nil
}

// beginTallies gives a window tallies of a meter before the meter's first block moves in it. The time between cells has
// none: a report does not list its allocations.
func (a *Blocks) beginTallies(w *windows.Window, key course.Key) {
	if w.Kind == windows.KindBetween || a.Flow != nil || w.Tallies[key.Meter] != nil {
		return
	}
	if w.Tallies == nil {
		w.Tallies = map[event.Meter]*stacks.Tallies{}
	}
	w.Tallies[key.Meter] = a.Holdings.Tallies(key, w.IsSettled)
}

// A window lists the stacks of a meter only if a block of the meter moved in the window. A cell that only uses blocks
// of earlier cells moves none, and can still be the highest of the session. A reader then wants to know which blocks
// filled the memory. So a cell that is the highest of its process so far also lists blocks that did not move.

// Keeps reports whether windows of a kind are kept: all are.
func (a *Blocks) Keeps(windows.WindowKind) bool { return true }

// Closed handles a cell that closes. If the cell is the highest so far, it gets tallies of the meters that did not move
// in it.
func (a *Blocks) Closed(w *windows.Window) {
	if a.Flow != nil || w.Kind != windows.KindCell || w.Uncounted || w.IsSettled || !w.Process.RaiseTops(w) {
		return
	}
	for _, m := range a.GPUs.Meters {
		key := course.Key{PID: w.Process.Info.PID, Meter: m}
		if held := a.Holdings.Held[key]; !m.Facts().InBlocks() || held == nil || held.Total <= 0 ||
			w.Tallies[m] != nil {
			continue
		}
		a.beginTallies(w, key)
		w.Tallies[m].IsStanding = true
	}
}
