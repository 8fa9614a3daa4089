package blocks

import (
	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/windows"
)

// A window lists the stacks that allocated, of the meters of which a block moved in it. A cell that only uses blocks of
// earlier cells moves none, and can be the highest of the session all the same; the blocks that fill the memory at that
// time are the first thing to look for in a report. So each cell that, when it is over, is the highest of its process
// so far also lists the blocks that stood throughout.

// Keeps reports that all windows are kept.
func (a *Blocks) Keeps(windows.WindowKind) bool { return true }

// Closed gives a cell that closes, and is the highest so far, tallies of the meters of which nothing moved in it.
func (a *Blocks) Closed(w *windows.Window) {
	if a.Untallied || w.Kind != windows.KindCell || w.Uncounted || w.IsSettled || !w.Process.RisesTo(w) {
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
