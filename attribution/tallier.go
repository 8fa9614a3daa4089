package attribution

import "ipytracer/event"

// closed gives a cell that closes, and is the highest so far, tallies of the meters of which nothing moved in it.
func (a *allocations) closed(w *window) {
	if w.kind != kindCell || w.uncounted || w.isSettled || !w.process.risesTo(w) {
		return
	}
	for _, m := range a.gpus.meters {
		key := heldKey{w.process.info.PID, m}
		if held := a.held[key]; !m.Facts().InBlocks() || held == nil || held.total <= 0 || w.tallies[m] != nil {
			continue
		}
		w.beforeMove(a, key)
		w.tallies[m].stood = true
	}
}

// copied gives a window that is a copy of another tallies of its own.
func (a *allocations) copied(w *window) {
	if w.tallies == nil {
		return
	}
	of := w.tallies
	w.tallies = make(map[event.Meter]*tallies, len(of))
	for m, all := range of {
		w.tallies[m] = all.clone()
		a.entries += all.len()
	}
}

// forgo lets the tallies of a window go.
func (a *allocations) forgo(w *window) {
	for _, all := range w.tallies {
		a.entries -= all.len()
	}
	w.tallies = nil
}

// settle sums up a window's tallies.
func (a *allocations) settle(w *window) {
	for m, all := range w.tallies {
		a.entries -= all.len()
		all.done = all.settle(a, heldKey{w.process.info.PID, m}, w.keeps())
		all.byStack, all.moved, all.cold = nil, nil, cold{}
	}
}

// shorten leaves of a window's tallies what a report lists.
func (a *allocations) shorten(w *window) {
	for _, all := range w.tallies {
		s := all.done
		listed, rest := a.divided.divide(w, s)
		for _, y := range rest {
			s.stacks++
			s.rest.allocated += y.allocated
			s.rest.freed += y.freed
			s.rest.atPeak += y.atPeak
		}
		copy(s.tallies, listed) // in the same memory: the window is turned into bytes now, and then it goes
		s.tallies, s.isShort = s.tallies[:len(listed)], true
	}
}

// archived takes the memory of a window's tallies back.
func (a *allocations) archived(d *detail) { a.spare.from(d) }

// maxStanding is how many stacks of a meter are kept of what stood: as many as a cell lists in any case, and some more
// of the same lines.
const maxStanding = 64

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

func (all *tallies) clone() *tallies {
	out := &tallies{byStack: make(map[uint64]*tally, len(all.byStack)), cold: all.cold.clone(), coolAt: all.coolAt,
		highest: all.highest, first: all.first, byValue: all.byValue, value: all.value}
	for stack, y := range all.byStack {
		y := *y
		out.byStack[stack] = &y
	}
	for _, y := range all.moved {
		out.moved = append(out.moved, out.byStack[y.stack])
	}
	return out
}
