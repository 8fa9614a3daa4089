package stacks

import (
	"slices"

	"ipytracer/attribution/internal/course"
	"ipytracer/event"
)

// Sum sums up the tallies of all stacks, and keeps the heaviest limit ones. It merges two lists in descending order:
// the window's own tallies, and what the process holds by stacks without a tally.
func (all *Tallies) Sum(h *Holdings, key course.Key, limit int) *Summary {
	if all.Done != nil {
		return all.Done
	}
	if all.IsStanding && len(all.ByStack) == 0 {
		limit = min(limit, maxStanding)
	}
	held := h.Of(key)
	s := all.newSummary(h, key)
	count := len(held.ByStack)
	own := slices.Grow(h.spare.own[:0], min(2*limit, all.Len()))
	defer func(memory []Sum) { h.spare.own = memory }(own[:0])
	var some uint64 // a bit for the lower bits of each stack with a tally: most stacks need no further look
	all.each(h, key, func(y *Tally) {
		some |= 1 << (y.stack & 63)
		size, has := held.ByStack[y.stack]
		if has {
			count--
		}
		s.Known += y.AtPeak - size
		if y.IsNothing() {
			return
		}
		count++
		s.Net += y.Allocated - y.Freed
		s.Heaviest = max(s.Heaviest, y.AtPeak, y.Allocated)
		s.Rest.Allocated += y.Allocated
		s.Rest.Freed += y.Freed
		s.Rest.Count += y.Count
		if len(own) == 2*limit { // only the heaviest are kept
			slices.SortFunc(own, heavier)
			own = own[:limit]
		}
		own = append(own, Sum{y.stack, y.Allocated, y.Freed, y.Count, y.AtPeak, h.Known.IsSampled(y.stack)})
	})
	sortHeaviest(own)
	s.Tallies = h.spare.list(min(limit, len(own)+len(held.ByStack)))
	held.eachLargest(func(size stackSize) bool {
		if some&(1<<(size.stack&63)) != 0 && all.hasTally(h, size.stack) {
			return true
		}
		s.Heaviest = max(s.Heaviest, size.size)
		y := Sum{Stack: size.stack, AtPeak: size.size, Sampled: h.Known.IsSampled(size.stack)}
		for len(own) > 0 && len(s.Tallies) < limit && heavier(own[0], y) < 0 {
			s.Tallies, own = append(s.Tallies, own[0]), own[1:]
		}
		if len(s.Tallies) < limit {
			s.Tallies = append(s.Tallies, y)
		}
		return len(s.Tallies) < limit
	})
	s.Tallies = append(s.Tallies, own[:min(len(own), limit-len(s.Tallies))]...)
	s.Stacks = count - len(s.Tallies)
	s.subtractListed()
	return s
}

// subtractListed subtracts the sums in Tallies from Rest.
func (s *Summary) subtractListed() {
	s.Rest.AtPeak = s.Known
	for i := range s.Tallies {
		y := &s.Tallies[i]
		s.Rest.Allocated -= y.Allocated
		s.Rest.Freed -= y.Freed
		s.Rest.Count -= y.Count
		s.Rest.AtPeak -= y.AtPeak
	}
}

// Copy returns a copy of a window's tallies, by meter.
func (h *Holdings) Copy(byMeter map[event.Meter]*Tallies) map[event.Meter]*Tallies {
	if byMeter == nil {
		return nil
	}
	out := make(map[event.Meter]*Tallies, len(byMeter))
	for m, tallies := range byMeter {
		out[m] = tallies.clone()
		h.Entries += tallies.Len()
	}
	return out
}

// Forgo subtracts a window's tallies from Entries. The caller drops the tallies.
func (h *Holdings) Forgo(byMeter map[event.Meter]*Tallies) {
	for _, tallies := range byMeter {
		h.Entries -= tallies.Len()
	}
}

// Settle sums up the tallies of a process in a window, and keeps at most limit stacks of each meter.
func (h *Holdings) Settle(byMeter map[event.Meter]*Tallies, pid int32, limit int) {
	for m, tallies := range byMeter {
		h.Entries -= tallies.Len()
		tallies.Done = tallies.Sum(h, course.Key{PID: pid, Meter: m}, limit)
		h.spare.takeTallies(tallies.ByStack)
		tallies.ByStack, tallies.recent, tallies.moved, tallies.Idle = nil, nil, nil, idleTallies{}
	}
}

// Reuse takes back the memory of the tallies of an archived window.
func (h *Holdings) Reuse(byMeter map[event.Meter]*Tallies) {
	for _, tallies := range byMeter {
		h.spare.takeBack(tallies.Done.Tallies)
	}
}

// Tallies returns empty tallies for a window in which a meter moves for the first time. Those of a settled window are
// settled, too.
func (h *Holdings) Tallies(key course.Key, isSettled bool) *Tallies {
	if isSettled {
		return &Tallies{Done: &Summary{}}
	}
	total := h.Of(key).Total
	return &Tallies{ByStack: h.spare.byStack(), Highest: total, First: total}
}
