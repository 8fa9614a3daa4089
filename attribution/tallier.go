package attribution

import (
	"slices"

	"ipytracer/attribution/internal/course"
	"ipytracer/event"
)

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

// forgo drops the tallies of a window.
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
		all.done = all.settle(h, course.Key{PID: w.process.info.PID, Meter: m}, w.keeps())
		all.byStack, all.moved, all.cold = nil, nil, cold{}
	}
}

// shorten leaves of a window's tallies those that a report lists.
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
		copy(s.tallies, listed) // in the same memory: the window is now turned into bytes, and then dropped
		s.tallies, s.isShort = s.tallies[:len(listed)], true
	}
}

// archived takes back the memory of a window's tallies.
func (h *holdings) archived(d *detail) {
	for _, all := range d.tallies {
		h.spare.from(all.done.tallies)
	}
	d.tallies = nil
}

// settle sums up tallies, and keeps the heaviest.
func (all *tallies) settle(h *holdings, key course.Key, limit int) *settled {
	if all.done != nil {
		return all.done
	}
	if all.stood && len(all.byStack) == 0 {
		limit = min(limit, maxStanding)
	}
	held := h.of(key)
	s := &settled{known: held.total, sampled: all.sampled(h, key)}
	count := len(held.byStack)
	own := slices.Grow(h.spare.own[:0], min(2*limit, all.len()))
	defer func(memory []doneTally) { h.spare.own = memory }(own[:0])
	all.each(h, key, func(y *tally) {
		size, has := held.byStack[y.stack]
		if has {
			count--
		}
		s.known += y.atPeak - size
		if y.isNothing() {
			return
		}
		count++
		s.net += y.allocated - y.freed
		s.heaviest = max(s.heaviest, y.atPeak, y.allocated)
		s.rest.allocated += y.allocated
		s.rest.freed += y.freed
		s.rest.count += y.count
		if len(own) == 2*limit { // only the heaviest are kept
			slices.SortFunc(own, heavier)
			own = own[:limit]
		}
		own = append(own, doneTally{y.stack, y.allocated, y.freed, y.count, y.atPeak, h.stacks.isSampled(y.stack)})
	})
	slices.SortFunc(own, heavier)
	s.tallies = h.spare.list(min(limit, len(own)+len(held.byStack)))
	held.most(func(one holds) bool { // both are in order
		if all.has(h, one.stack) {
			return true
		}
		s.heaviest = max(s.heaviest, one.size)
		y := doneTally{stack: one.stack, atPeak: one.size, sampled: h.stacks.isSampled(one.stack)}
		for len(own) > 0 && len(s.tallies) < limit && heavier(own[0], y) < 0 {
			s.tallies, own = append(s.tallies, own[0]), own[1:]
		}
		if len(s.tallies) < limit {
			s.tallies = append(s.tallies, y)
		}
		return len(s.tallies) < limit
	})
	s.tallies = append(s.tallies, own[:min(len(own), limit-len(s.tallies))]...)
	s.rest.atPeak = s.known
	for _, y := range s.tallies {
		s.rest.allocated -= y.allocated
		s.rest.freed -= y.freed
		s.rest.count -= y.count
		s.rest.atPeak -= y.atPeak
	}
	s.stacks = count - len(s.tallies)
	return s
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

// beforeMove records the total of a meter when its first block moves in a window.
func (w *window) beforeMove(h *holdings, key course.Key) {
	if w.kind == kindBetween || h.onlyCells && w.kind != kindCell || w.tallies[key.Meter] != nil {
		return
	}
	if w.tallies == nil {
		w.tallies = map[event.Meter]*tallies{}
	}
	if w.isSettled {
		w.tallies[key.Meter] = &tallies{done: &settled{}}
		return
	}
	total := h.of(key).total
	w.tallies[key.Meter] = &tallies{byStack: map[uint64]*tally{}, highest: total, first: total}
}

func (w *window) move(h *holdings, key course.Key, before, after block, times int64) {
	all := w.tallies[key.Meter]
	if w.isSettled && all != nil {
		all.wrong = true
		return
	}
	if all == nil { // the time between cells is not listed
		return
	}
	if all.isWarm(h) {
		all.cool(h, key, w.process.ranCells)
	}
	if before.size > 0 {
		if y := all.of(h, key, before.stack); y != nil {
			y.freed += before.size
			all.moves(y, -before.size, w.process.ranCells)
		}
	}
	if after.size > 0 {
		if y := all.of(h, key, after.stack); y != nil {
			y.allocated += after.size
			y.count += times
			all.moves(y, after.size, w.process.ranCells)
		}
	}
	if total := h.of(key).total; total > all.highest {
		all.highest = total
		if !all.byValue {
			all.isAtPeak()
		}
	}
}
