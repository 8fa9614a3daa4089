package attribution

import (
	"iter"

	"ipytracer/attribution/internal/course"
	"ipytracer/event"
)

// tallies are the allocations of a meter in a window, by stack. For a stack without a tally nothing moved since the
// window began: it holds the same as the process holds by it now.
type tallies struct {
	byStack map[uint64]*tally
	cold    cold
	coolAt  int      // size of byStack at which cold tallies are looked for
	moved   []*tally // since the highest total so far
	highest event.Bytes
	first   event.Bytes // total before the first change
	// byValue: blocks that were not streamed move the meter, too, so its value shows where its peak is. value is the
	// highest so far.
	byValue bool
	value   event.Bytes
	done    *settled // replaces byStack, once the window is settled
	stood   bool     // nothing moved in the window: see [allocations.closed]
	wrong   bool     // a change came after that, or it frees a block of which no allocation is known
}

// tally has the allocations and frees of one stack in a window.
type tally struct {
	stack            uint64
	allocated, freed event.Bytes
	count            int64 // allocations
	atPeak, held     event.Bytes
	since            event.Bytes // by how much held has changed since the process ended its cells-th cell
	cells            int32
	isMoved, isCold  bool
}

// of returns a stack's tally, nil if there is no room for one more. It starts with the bytes that the process holds by
// the stack.
func (all *tallies) of(h *holdings, key course.Key, stack uint64) *tally {
	y := all.byStack[stack]
	if y == nil {
		if h.entries >= h.stacks.room.tallies {
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

// isAtPeak records the bytes of all stacks: the meter is at its peak.
func (all *tallies) isAtPeak() {
	for _, y := range all.moved {
		y.isMoved = false
		all.hadAtPeak(y, y.held)
	}
	all.moved = all.moved[:0]
}

// shift changes the bytes that a stack held from the window's beginning on. A stack without a tally needs none, unless
// the process would hold less than nothing by it.
func (all *tallies) shift(h *holdings, key course.Key, stack uint64, by event.Bytes) {
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

// hadAtPeak records the bytes that a stack held at the peak. A negative value is the result of a loss.
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

// isNothing reports whether a stack held and did nothing in a window: its first block came later.
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

// sampled returns the part that samples stand for of the bytes that all stacks had at the peak.
func (all *tallies) sampled(h *holdings, key course.Key) (sum event.Bytes) {
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

// cool moves cold tallies to the others. Those of stacks that may yet be streamed stay, and those that moved since the
// last cell of the process ended: how much of them is left is not known yet.
func (all *tallies) cool(h *holdings, key course.Key, cells int32) {
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

// isWarm reports whether it is time to look for cold tallies.
func (all *tallies) isWarm() bool { return len(all.byStack) >= max(minHot, all.coolAt) }

// each calls do with the tally of each stack.
func (all *tallies) each(h *holdings, key course.Key, do func(*tally)) {
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

// has reports whether a stack has a tally.
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

// stacks returns all stacks that have tallies, in no order.
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

// tally returns the tally of a stack; a cold one holds the same as the process holds by the stack.
func (all *tallies) tally(h *holdings, key course.Key, stack uint64) tally {
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

// len returns the number of tallies.
func (all *tallies) len() int { return len(all.byStack) + all.cold.count }

// minHot is the number of tallies of a window from which on cold ones are looked for.
const minHot = 1 << 10

// move puts one block in the place of another; a block of size 0 is none. times is the number of allocations that it
// stands for, cells the number of cells of the process that are over. Tallies that are summed up are wrong from now on.
func (all *tallies) move(h *holdings, key course.Key, before, after block, times int64, cells int32) {
	if all.done != nil {
		all.wrong = true
		return
	}
	if all.isWarm() {
		all.cool(h, key, cells)
	}
	if before.size > 0 {
		if y := all.of(h, key, before.stack); y != nil {
			y.freed += before.size
			all.moves(y, -before.size, cells)
		}
	}
	if after.size > 0 {
		if y := all.of(h, key, after.stack); y != nil {
			y.allocated += after.size
			y.count += times
			all.moves(y, after.size, cells)
		}
	}
	if total := h.of(key).total; total > all.highest {
		all.highest = total
		if !all.byValue {
			all.isAtPeak()
		}
	}
}

// follow has the peak found by the meter's value, and no longer by the largest sum of the known blocks. Until now the
// two were the same. from is the value before the change that shows it.
func (all *tallies) follow(h *holdings, key course.Key, from event.Bytes) {
	if !all.byValue {
		all.byValue, all.value = true, from+all.highest-h.of(key).total
	}
}

// stands records that the meter has a value now.
func (all *tallies) stands(value event.Bytes) {
	if all.byStack != nil && value > all.value {
		all.value = value
		all.isAtPeak()
	}
}

// isOpen reports whether the tallies are not summed up.
func (all *tallies) isOpen() bool { return all != nil && all.byStack != nil }
