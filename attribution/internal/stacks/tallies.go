package stacks

import (
	"iter"

	"ipytracer/attribution/internal/course"
	"ipytracer/event"
)

// Tallies are the allocations of a meter in a window, by stack. For a stack without a tally nothing moved since the
// window began: it holds the same as the process holds by it now.
type Tallies struct {
	ByStack map[uint64]*Tally
	Idle    idleTallies
	idleAt  int      // size of byStack at which idle tallies are looked for
	moved   []*Tally // since the highest total so far
	Highest event.Bytes
	First   event.Bytes // total before the first change
	// byValue: blocks that were not streamed move the meter, too, so its value shows where its peak is. value is the
	// highest so far.
	byValue    bool
	value      event.Bytes
	Done       *Summary // replaces byStack, once the window is settled
	IsStanding bool     // nothing moved in the window: see [allocations.closed]
	Wrong      bool     // a change came after that, or it frees a block of which no allocation is known
}

// Tally has the allocations and frees of one stack in a window.
type Tally struct {
	stack            uint64
	Allocated, Freed event.Bytes
	Count            int64 // allocations
	AtPeak, Held     event.Bytes
	Since            event.Bytes // by how much held has changed since the process ended its cells-th cell
	Cells            int32
	isMoved, isIdle  bool
}

// Of returns a stack's tally, nil if there is no room for one more. It starts with the bytes that the process holds by
// the stack.
func (all *Tallies) Of(h *Holdings, key course.Key, stack uint64) *Tally {
	y := all.ByStack[stack]
	if y == nil {
		if h.Entries >= h.Known.Room.Tallies {
			h.Dropped++
			return nil
		}
		h.Entries++
		held := h.Of(key).ByStack[stack]
		y = &Tally{stack: stack, AtPeak: held, Held: held}
		all.ByStack[stack] = y
	}
	return y
}

// recordPeak notes that the meter is at its peak: the bytes that each stack holds now are those at the peak. Stacks
// that have not moved since the last peak already have them.
func (all *Tallies) recordPeak() {
	for _, y := range all.moved {
		y.isMoved = false
		all.setAtPeak(y, y.Held)
	}
	all.moved = all.moved[:0]
}

// Shift changes the bytes that a stack held from the window's beginning on. A stack without a tally needs none, unless
// the process would hold less than nothing by it.
func (all *Tallies) Shift(h *Holdings, key course.Key, stack uint64, by event.Bytes) {
	all.Highest += by
	all.First += by
	if all.ByStack[stack] == nil && h.Of(key).ByStack[stack]+by >= 0 {
		return
	}
	if y := all.Of(h, key, stack); y != nil {
		y.Held += by
		all.setAtPeak(y, y.AtPeak+by)
	}
}

// setAtPeak sets the bytes that a stack held at the peak. A negative value is the result of a loss.
func (all *Tallies) setAtPeak(y *Tally, held event.Bytes) {
	if held < 0 {
		all.Wrong, held = true, 0
	}
	y.AtPeak = held
}

func (all *Tallies) moves(y *Tally, by event.Bytes, cells int32) {
	y.Held += by
	if y.Cells != cells {
		y.Cells, y.Since = cells, 0
	}
	y.Since += by
	if !y.isMoved {
		y.isMoved = true
		all.moved = append(all.moved, y)
	}
}

// IsNothing reports whether a stack held and did nothing in a window: its first block came later.
func (y *Tally) IsNothing() bool { return y.Allocated == 0 && y.Freed == 0 && y.AtPeak == 0 }

func (all *Tallies) clone() *Tallies {
	out := &Tallies{ByStack: make(map[uint64]*Tally, len(all.ByStack)), Idle: all.Idle.clone(), idleAt: all.idleAt,
		Highest: all.Highest, First: all.First, byValue: all.byValue, value: all.value}
	for stack, y := range all.ByStack {
		y := *y
		out.ByStack[stack] = &y
	}
	for _, y := range all.moved {
		out.moved = append(out.moved, out.ByStack[y.stack])
	}
	return out
}

// sampled returns the part that samples stand for of the bytes that all stacks had at the peak.
func (all *Tallies) sampled(h *Holdings, key course.Key) (sum event.Bytes) {
	if len(h.Known.sampled) == 0 {
		return 0
	}
	held := h.Of(key).ByStack
	for stack, size := range held {
		if h.Known.IsSampled(stack) {
			sum += size
		}
	}
	all.each(h, key, func(y *Tally) {
		if h.Known.IsSampled(y.stack) {
			sum += y.AtPeak - held[y.stack]
		}
	})
	return sum
}

// makeIdle turns tallies that hold nothing into sums. Tallies of stacks that may yet be streamed stay, and tallies that
// moved since the last cell of the process ended: how much of them is left is not known yet.
func (all *Tallies) makeIdle(h *Holdings, key course.Key, cells int32) {
	before, held := all.Len(), h.Of(key).ByStack
	for stack, y := range all.ByStack {
		if y.Held != 0 || y.AtPeak != 0 || y.Cells == cells || held[stack] != 0 {
			continue
		}
		place, known := h.Known.firstOf(stack)
		if !known {
			continue
		}
		if !y.IsNothing() {
			all.Idle.add(place, idleTally{y.Allocated, y.Freed, y.Count})
		}
		y.isIdle = true
		delete(all.ByStack, stack)
	}
	moved := all.moved[:0]
	for _, y := range all.moved {
		if !y.isIdle {
			moved = append(moved, y)
		}
	}
	clear(all.moved[len(moved):])
	all.moved = moved
	all.idleAt = 2 * len(all.ByStack)
	h.Entries -= before - all.Len()
}

// isDue reports whether it is time to look for idle tallies.
func (all *Tallies) isDue() bool { return len(all.ByStack) >= max(MinBusy, all.idleAt) }

// each calls do with the tally of each stack.
func (all *Tallies) each(h *Holdings, key course.Key, do func(*Tally)) {
	if all.Idle.Count == 0 {
		for _, y := range all.ByStack {
			do(y)
		}
		return
	}
	for stack := range all.Stacks(h) {
		y := all.Tally(h, key, stack)
		do(&y)
	}
}

// has reports whether a stack has a tally.
func (all *Tallies) has(h *Holdings, stack uint64) bool {
	if all.ByStack[stack] != nil {
		return true
	}
	if all.Idle.Count == 0 {
		return false
	}
	place, known := h.Known.firstOf(stack)
	return known && all.Idle.of(place) != (idleTally{})
}

// Stacks returns all stacks that have tallies, in no order.
func (all *Tallies) Stacks(h *Holdings) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for stack := range all.ByStack {
			if !yield(stack) {
				return
			}
		}
		for at, page := range all.Idle.pages {
			for i := range page {
				if page[i] == (idleTally{}) {
					continue
				}
				if stack := h.Known.Stacks[at*idlePage+uint32(i)].Number; all.ByStack[stack] == nil && !yield(stack) {
					return
				}
			}
		}
	}
}

// Tally returns the tally of a stack; an idle one holds the same as the process holds by the stack.
func (all *Tallies) Tally(h *Holdings, key course.Key, stack uint64) Tally {
	y := Tally{stack: stack}
	if hot := all.ByStack[stack]; hot != nil {
		y = *hot
	} else {
		y.Held = h.Of(key).ByStack[stack]
		y.AtPeak = y.Held
	}
	if all.Idle.Count > 0 {
		if place, known := h.Known.firstOf(stack); known {
			c := all.Idle.of(place)
			y.Allocated += c.allocated
			y.Freed += c.freed
			y.Count += c.count
		}
	}
	return y
}

// Len returns the number of tallies.
func (all *Tallies) Len() int { return len(all.ByStack) + all.Idle.Count }

// MinBusy is the number of tallies of a window from which on idle ones are looked for.
const MinBusy = 1 << 10

// Move puts one block in the place of another; a block of size 0 is none. times is the number of allocations that it
// stands for, cells the number of cells of the process that are over. Tallies that are summed up are wrong from now on.
func (all *Tallies) Move(h *Holdings, key course.Key, before, after Block, times int64, cells int32) {
	if all.Done != nil {
		all.Wrong = true
		return
	}
	if all.isDue() {
		all.makeIdle(h, key, cells)
	}
	if before.Size > 0 {
		if y := all.Of(h, key, before.Stack); y != nil {
			y.Freed += before.Size
			all.moves(y, -before.Size, cells)
		}
	}
	if after.Size > 0 {
		if y := all.Of(h, key, after.Stack); y != nil {
			y.Allocated += after.Size
			y.Count += times
			all.moves(y, after.Size, cells)
		}
	}
	if total := h.Of(key).Total; total > all.Highest {
		all.Highest = total
		if !all.byValue {
			all.recordPeak()
		}
	}
}

// Follow has the peak found by the meter's value, and no longer by the largest sum of the known blocks. Until now the
// two were the same. from is the value before the change that shows it.
func (all *Tallies) Follow(h *Holdings, key course.Key, from event.Bytes) {
	if !all.byValue {
		all.byValue, all.value = true, from+all.Highest-h.Of(key).Total
	}
}

// Stands records that the meter has a value now.
func (all *Tallies) Stands(value event.Bytes) {
	if all.ByStack != nil && value > all.value {
		all.value = value
		all.recordPeak()
	}
}

// IsOpen reports whether the tallies are not summed up.
func (all *Tallies) IsOpen() bool { return all != nil && all.ByStack != nil }
