package stacks

import (
	"slices"

	"ipytracer/attribution/internal/course"
	"ipytracer/event"
)

// Settle sums up tallies, and keeps the heaviest.
func (all *Tallies) Settle(h *Holdings, key course.Key, limit int) *Summary {
	if all.Done != nil {
		return all.Done
	}
	if all.IsStanding && len(all.ByStack) == 0 {
		limit = min(limit, maxStanding)
	}
	held := h.Of(key)
	s := &Summary{Known: held.Total, Sampled: all.sampled(h, key)}
	count := len(held.ByStack)
	own := slices.Grow(h.spare.own[:0], min(2*limit, all.Len()))
	defer func(memory []Sum) { h.spare.own = memory }(own[:0])
	all.each(h, key, func(y *Tally) {
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
	slices.SortFunc(own, heavier)
	s.Tallies = h.spare.list(min(limit, len(own)+len(held.ByStack)))
	held.most(func(one holds) bool { // both are in order
		if all.has(h, one.stack) {
			return true
		}
		s.Heaviest = max(s.Heaviest, one.size)
		y := Sum{Stack: one.stack, AtPeak: one.size, Sampled: h.Known.IsSampled(one.stack)}
		for len(own) > 0 && len(s.Tallies) < limit && heavier(own[0], y) < 0 {
			s.Tallies, own = append(s.Tallies, own[0]), own[1:]
		}
		if len(s.Tallies) < limit {
			s.Tallies = append(s.Tallies, y)
		}
		return len(s.Tallies) < limit
	})
	s.Tallies = append(s.Tallies, own[:min(len(own), limit-len(s.Tallies))]...)
	s.Rest.AtPeak = s.Known
	for _, y := range s.Tallies {
		s.Rest.Allocated -= y.Allocated
		s.Rest.Freed -= y.Freed
		s.Rest.Count -= y.Count
		s.Rest.AtPeak -= y.AtPeak
	}
	s.Stacks = count - len(s.Tallies)
	return s
}

// Copied returns a copy of a window's tallies, by meter.
func (h *Holdings) Copied(byMeter map[event.Meter]*Tallies) map[event.Meter]*Tallies {
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

// Forgo takes a window's tallies out of the count of entries. The caller drops the tallies.
func (h *Holdings) Forgo(byMeter map[event.Meter]*Tallies) {
	for _, tallies := range byMeter {
		h.Entries -= tallies.Len()
	}
}

// Settle sums up the tallies of a process in a window, and keeps at most limit stacks of each meter.
func (h *Holdings) Settle(byMeter map[event.Meter]*Tallies, pid int32, limit int) {
	for m, tallies := range byMeter {
		h.Entries -= tallies.Len()
		tallies.Done = tallies.Settle(h, course.Key{PID: pid, Meter: m}, limit)
		tallies.ByStack, tallies.moved, tallies.Idle = nil, nil, idleTallies{}
	}
}

// Archived takes back the memory of tallies that have been turned into bytes.
func (h *Holdings) Archived(byMeter map[event.Meter]*Tallies) {
	for _, tallies := range byMeter {
		h.spare.from(tallies.Done.Tallies)
	}
}

// Tallies returns the tallies of a window in which a meter moves for the first time: none, if the window is settled.
func (h *Holdings) Tallies(key course.Key, isSettled bool) *Tallies {
	if isSettled {
		return &Tallies{Done: &Summary{}}
	}
	total := h.Of(key).Total
	return &Tallies{ByStack: map[uint64]*Tally{}, Highest: total, First: total}
}
