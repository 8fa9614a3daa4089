package attribution

import "ipytracer/event"

// copied gives a window that is a copy of another tallies of its own.
func (h *holdings) copied(w *window) {
	if w.tallies == nil {
		return
	}
	of := w.tallies
	w.tallies = make(map[event.Meter]*tallies, len(of))
	for m, all := range of {
		w.tallies[m] = all.clone()
		h.entries += all.len()
	}
}

// forgo lets the tallies of a window go.
func (h *holdings) forgo(w *window) {
	for _, all := range w.tallies {
		h.entries -= all.len()
	}
	w.tallies = nil
}

// settle sums up a window's tallies.
func (h *holdings) settle(w *window) {
	for m, all := range w.tallies {
		h.entries -= all.len()
		all.done = all.settle(h, heldKey{w.process.info.PID, m}, w.keeps())
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
func (h *holdings) archived(d *detail) { h.spare.from(d) }

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
