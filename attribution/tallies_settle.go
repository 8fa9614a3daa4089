package attribution

import (
	"slices"

	"ipytracer/attribution/internal/course"
)

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
