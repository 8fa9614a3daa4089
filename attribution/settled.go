package attribution

import (
	"slices"
)

// A window that is open knows of every stack what it did; one that is over needs what a report can show of it. So a
// session's memory goes by what is open, not by how many windows there were.

// How many stacks a window keeps of each meter, the most at the peak first.
const (
	maxKept            = 1000
	maxKeptOfCell      = 300
	maxKeptOfStatement = 50
)

// settle sums up tallies, and keeps the heaviest.
func (all *tallies) settle(h *holdings, key heldKey, limit int) *settled {
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
		if len(own) == 2*limit { // of more than the heaviest none is kept
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

// isNothing says whether a stack had nothing in a window, and did nothing: it came later.
func (y *tally) isNothing() bool { return y.allocated == 0 && y.freed == 0 && y.atPeak == 0 }

// keeps is how many stacks of each meter a window keeps.
func (w *window) keeps() int {
	switch w.kind {
	case kindStatement:
		return maxKeptOfStatement
	case kindCell:
		return maxKeptOfCell
	}
	return maxKept
}
