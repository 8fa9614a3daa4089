package attribution

import (
	"iter"

	"ipytracer/event"
)

// A session that goes on for long has many stacks that did something once and hold nothing any more: a cell is run, and
// its lines have stacks of their own. Of these it needs what they add up to. They are put where one takes 24 bytes, and
// come back as they were, should they be heard of again.

// cold is what the stacks of a window did that hold nothing and held nothing at its peak, by their places in the table
// of stacks.
type cold struct {
	pages map[uint32]*[coldPage]coldTally
	count int
}

const coldPage = 1 << 8

// coldTally is what one did.
type coldTally struct {
	allocated, freed event.Bytes
	count            int64
}

// of is what the stack at a place did.
func (c *cold) of(place uint32) coldTally {
	if page := c.pages[place/coldPage]; page != nil {
		return page[place%coldPage]
	}
	return coldTally{}
}

func (c *cold) add(place uint32, y *tally) {
	if c.pages == nil {
		c.pages = map[uint32]*[coldPage]coldTally{}
	}
	page := c.pages[place/coldPage]
	if page == nil {
		page = &[coldPage]coldTally{}
		c.pages[place/coldPage] = page
	}
	one := &page[place%coldPage]
	if *one == (coldTally{}) {
		c.count++
	}
	one.allocated += y.allocated
	one.freed += y.freed
	one.count += y.count
}

func (c *cold) clone() cold {
	out := cold{count: c.count}
	for at, page := range c.pages {
		if out.pages == nil {
			out.pages = make(map[uint32]*[coldPage]coldTally, len(c.pages))
		}
		copied := *page
		out.pages[at] = &copied
	}
	return out
}

// minHot is how many tallies a window has before it is looked which of them are cold.
const minHot = 1 << 10

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
			all.cold.add(place, y)
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
