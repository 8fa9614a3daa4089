package attribution

import (
	"iter"

	"ipytracer/event"
)

// tallies are what a window knows of a meter's allocations. Of stacks that have none nothing moved since the window
// began: they have what the process has of them now.
type tallies struct {
	byStack map[uint64]*tally
	cold    cold
	coolAt  int      // of how many in byStack it is looked which are cold
	moved   []*tally // since the highest total so far
	highest event.Bytes
	first   event.Bytes // total before the first change
	// byValue: blocks that were not told move the meter, too, so its value says where its peak is. value is the highest
	// so far.
	byValue bool
	value   event.Bytes
	done    *settled // in the place of byStack, once the window is settled
	stood   bool     // nothing moved in the window: see [allocations.closed]
	wrong   bool     // a change came after that, or frees what nobody is known to have made
}

// tally is what one stack did in a window.
type tally struct {
	stack            uint64
	allocated, freed event.Bytes
	count            int64 // allocations
	atPeak, held     event.Bytes
	since            event.Bytes // by how much held has changed since the process ended its cells-th cell
	cells            int32
	isMoved, isCold  bool
}

// of is a stack's tally, nil if there is no room for one more. It has what the process has of the stack.
func (all *tallies) of(h *holdings, key heldKey, stack uint64) *tally {
	y := all.byStack[stack]
	if y == nil {
		if h.entries >= maxTallies {
			h.dropped++
			return nil
		}
		h.entries++
		held := h.of(key).byStack[stack]
		y = &tally{stack: stack, atPeak: held, held: held}
		all.byStack[stack] = y
	}
	return y
}

// isAtPeak notes what all stacks have: the meter is at its peak.
func (all *tallies) isAtPeak() {
	for _, y := range all.moved {
		y.isMoved = false
		all.hadAtPeak(y, y.held)
	}
	all.moved = all.moved[:0]
}

// shift changes what a stack held from the window's beginning on. Without a tally it does so by itself.
func (all *tallies) shift(h *holdings, key heldKey, stack uint64, by event.Bytes) {
	all.highest += by
	all.first += by
	if all.byStack[stack] == nil && h.of(key).byStack[stack]+by >= 0 {
		return
	}
	if y := all.of(h, key, stack); y != nil {
		y.held += by
		all.hadAtPeak(y, y.atPeak+by)
	}
}

// hadAtPeak notes what a stack held at the peak. Less than nothing is what a loss looks like.
func (all *tallies) hadAtPeak(y *tally, held event.Bytes) {
	if held < 0 {
		all.wrong, held = true, 0
	}
	y.atPeak = held
}

func (all *tallies) moves(y *tally, by event.Bytes, cells int32) {
	y.held += by
	if y.cells != cells {
		y.cells, y.since = cells, 0
	}
	y.since += by
	if !y.isMoved {
		y.isMoved = true
		all.moved = append(all.moved, y)
	}
}

// isNothing says whether a stack had nothing in a window, and did nothing: it came later.
func (y *tally) isNothing() bool { return y.allocated == 0 && y.freed == 0 && y.atPeak == 0 }

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

// sampled is what samples stand for of what all stacks had at the peak.
func (all *tallies) sampled(h *holdings, key heldKey) (sum event.Bytes) {
	if len(h.stacks.sampled) == 0 {
		return 0
	}
	held := h.of(key).byStack
	for stack, size := range held {
		if h.stacks.isSampled(stack) {
			sum += size
		}
	}
	all.each(h, key, func(y *tally) {
		if h.stacks.isSampled(y.stack) {
			sum += y.atPeak - held[y.stack]
		}
	})
	return sum
}

// cool puts tallies that are cold to the others. Those of stacks that may yet be told stay, and those that moved since
// the last cell of the process ended: what is left of them is not known yet.
func (all *tallies) cool(h *holdings, key heldKey, cells int32) {
	before, held := all.len(), h.of(key).byStack
	for stack, y := range all.byStack {
		if y.held != 0 || y.atPeak != 0 || y.cells == cells || held[stack] != 0 {
			continue
		}
		place, known := h.stacks.firstOf(stack)
		if !known {
			continue
		}
		if !y.isNothing() {
			all.cold.add(place, coldTally{y.allocated, y.freed, y.count})
		}
		y.isCold = true
		delete(all.byStack, stack)
	}
	moved := all.moved[:0]
	for _, y := range all.moved {
		if !y.isCold {
			moved = append(moved, y)
		}
	}
	clear(all.moved[len(moved):])
	all.moved = moved
	all.coolAt = 2 * len(all.byStack)
	h.entries -= before - all.len()
}

// isWarm says whether it is time to look which of them are cold.
func (all *tallies) isWarm() bool { return len(all.byStack) >= max(minHot, all.coolAt) }

// each goes through all that stacks did.
func (all *tallies) each(h *holdings, key heldKey, do func(*tally)) {
	if all.cold.count == 0 {
		for _, y := range all.byStack {
			do(y)
		}
		return
	}
	for stack := range all.stacks(h) {
		y := all.tally(h, key, stack)
		do(&y)
	}
}

// has says whether a stack has a tally.
func (all *tallies) has(h *holdings, stack uint64) bool {
	if all.byStack[stack] != nil {
		return true
	}
	if all.cold.count == 0 {
		return false
	}
	place, known := h.stacks.firstOf(stack)
	return known && all.cold.of(place) != (coldTally{})
}

// stacks are all that tallies are of, in no order.
func (all *tallies) stacks(h *holdings) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for stack := range all.byStack {
			if !yield(stack) {
				return
			}
		}
		for at, page := range all.cold.pages {
			for i := range page {
				if page[i] == (coldTally{}) {
					continue
				}
				if stack := h.stacks.stacks[at*coldPage+uint32(i)].number; all.byStack[stack] == nil && !yield(stack) {
					return
				}
			}
		}
	}
}

// tally is all that a stack did; one that is cold has what the process has of it.
func (all *tallies) tally(h *holdings, key heldKey, stack uint64) tally {
	y := tally{stack: stack}
	if hot := all.byStack[stack]; hot != nil {
		y = *hot
	} else {
		y.held = h.of(key).byStack[stack]
		y.atPeak = y.held
	}
	if all.cold.count > 0 {
		if place, known := h.stacks.firstOf(stack); known {
			c := all.cold.of(place)
			y.allocated += c.allocated
			y.freed += c.freed
			y.count += c.count
		}
	}
	return y
}

// len is how many there are.
func (all *tallies) len() int { return len(all.byStack) + all.cold.count }

// minHot is how many tallies a window has before it is looked which of them are cold.
const minHot = 1 << 10
