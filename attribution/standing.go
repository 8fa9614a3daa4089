package attribution

import "ipytracer/event"

// A window lists who allocated of the meters of which a block moved in it. A cell that only uses what earlier cells
// have made moves none, and can be the highest of the session all the same; what fills the memory then is what a report
// is asked for first. So each cell that is the highest of its process so far, when it is over, lists what stood all the
// while.

// keeps reports that all windows are kept.
func (a *allocations) keeps(windowKind) bool { return true }

// closed gives a cell that closes, and is the highest so far, tallies of the meters of which nothing moved in it.
func (a *allocations) closed(w *window) {
	if w.kind != kindCell || w.uncounted || w.isSettled || !w.process.risesTo(w) {
		return
	}
	for _, m := range a.gpus.meters {
		key := heldKey{w.process.info.PID, m}
		if held := a.holdings.held[key]; !m.Facts().InBlocks() || held == nil || held.total <= 0 ||
			w.tallies[m] != nil {
			continue
		}
		w.beforeMove(a.holdings, key)
		w.tallies[m].stood = true
	}
}

// risesTo says whether a meter by which cells are ranked was as high in a window as in none of its process before, and
// remembers that.
func (p *process) risesTo(w *window) (highest bool) {
	for _, all := range [...]figures{w.own, w.tree} {
		for _, f := range all {
			if f.meter != event.Resident && f.meter < event.CPUMeters {
				continue
			}
			if top := f.highest(); top > 0 && top >= p.tops.of(f.meter) {
				p.tops.raise(f.meter, top)
				highest = true
			}
		}
	}
	return highest
}
