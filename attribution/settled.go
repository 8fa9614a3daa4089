package attribution

import (
	"slices"

	"ipytracer/event"
)

// settled is what is left of a window's tallies of one meter once nothing can change them any more.
type settled struct {
	tallies []doneTally // the most at the peak first
	// rest is what is not in tallies: how many stacks, and what they add up to.
	rest     doneTally
	stacks   int
	known    event.Bytes // at the peak, of all stacks
	net      event.Bytes // of all stacks
	heaviest event.Bytes // at the peak or allocated, of one stack
	sampled  event.Bytes // of known, what samples stand for
	isShort  bool        // tallies are what a report lists, and the rest of them is in rest
}

// settle sums up tallies, and keeps the heaviest.
func (all *tallies) settle(a *allocations, key heldKey, limit int) *settled {
	if all.done != nil {
		return all.done
	}
	if all.stood && len(all.byStack) == 0 {
		limit = min(limit, maxStanding)
	}
	held := a.of(key)
	s := &settled{known: held.total, sampled: all.sampled(a, key)}
	count := len(held.byStack)
	own := slices.Grow(a.spare.own[:0], min(2*limit, all.len()))
	defer func(memory []doneTally) { a.spare.own = memory }(own[:0])
	all.each(a, key, func(y *tally) {
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
		own = append(own, doneTally{y.stack, y.allocated, y.freed, y.count, y.atPeak, a.isSampled(y.stack)})
	})
	slices.SortFunc(own, heavier)
	s.tallies = a.spare.list(min(limit, len(own)+len(held.byStack)))
	held.most(func(one holds) bool { // both are in order
		if all.has(a, one.stack) {
			return true
		}
		s.heaviest = max(s.heaviest, one.size)
		y := doneTally{stack: one.stack, atPeak: one.size, sampled: a.isSampled(one.stack)}
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
