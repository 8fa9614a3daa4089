package stacks

import (
	"iter"
	"math"

	"ipytracer/attribution/internal/course"
	"ipytracer/event"
)

// Tallies are the allocations of a meter in a window, by stack. A stack has no tally if nothing moved in the window: it
// has held the same since the window began, see [Holdings].
type Tallies struct {
	ByStack map[uint64]*Tally
	recent  *Tally // of ByStack, the one that was asked for last
	Idle    idleTallies
	idleAt  int         // length of ByStack at which idle tallies are searched
	moved   []*Tally    // tallies that moved since the highest total so far
	Highest event.Bytes // the highest total so far
	First   event.Bytes // the total before the first change
	// byValue: blocks that were not streamed move the meter, too, so the peak is where the meter's value is highest.
	byValue    bool
	value      event.Bytes // the highest value so far, if byValue
	Done       *Summary    // replaces ByStack once the window is settled
	IsStanding bool        // nothing moved in the window: see [blocks.Blocks.Closed]
	Wrong      bool        // a change came after Done was set, or freed a block without a known allocation
}

// Tally has the allocations and frees of one stack in a window.
type Tally struct {
	stack            uint64
	Allocated, Freed event.Bytes
	Count            int64 // allocations
	AtPeak, Held     event.Bytes
	Since            event.Bytes // by how much Held has changed since the process ended its cell number Cells
	Cells            int32
	isMoved, isIdle  bool // it is in Tallies.moved; its sums are in Tallies.Idle
}

// Of returns a stack's tally, nil if there is no room for one more. A new tally starts with the bytes that the stack
// holds.
func (all *Tallies) Of(h *Holdings, key course.Key, stack uint64) *Tally {
	if y := all.recent; y != nil && y.stack == stack {
		return y
	}
	y := all.ByStack[stack]
	if y == nil {
		if h.Entries >= h.Known.Room.Tallies {
			h.Dropped++
			return nil
		}
		h.Entries++
		held := h.Of(key).ByStack[stack]
		y = h.spare.tally()
		*y = Tally{stack: stack, AtPeak: held, Held: held}
		all.ByStack[stack] = y
	}
	all.recent = y
	return y
}

// recordPeak records that the meter is at its peak: each stack's bytes at the peak are the bytes that it holds now.
// Only stacks that moved since the last peak need a change.
func (all *Tallies) recordPeak() {
	for _, y := range all.moved {
		y.isMoved = false
		all.setAtPeak(y, y.Held)
	}
	all.moved = all.moved[:0]
}

// Shift changes the bytes that a stack held from the window's beginning on. It makes no new tally, unless the stack
// would hold less than nothing.
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

// setAtPeak sets the bytes that a stack held at the peak. A negative value comes from a lost record, and becomes 0.
func (all *Tallies) setAtPeak(y *Tally, held event.Bytes) {
	if held < 0 {
		all.Wrong, held = true, 0
	}
	y.AtPeak = held
}

func (all *Tallies) add(y *Tally, by event.Bytes, cells int32) {
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

// IsNothing reports whether a stack did nothing in a window and held nothing at its peak.
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

// newSummary returns a summary that has what the process holds, and what sampled blocks stood for at the peak. A block
// is a sample, independently of others, with a probability that is at least its part of the bytes that it stands for.
// So the variance of an estimate is below the sum of these bytes' squares.
func (all *Tallies) newSummary(h *Holdings, key course.Key) *Summary {
	s := &Summary{Known: h.Of(key).Total}
	if len(h.Known.sampled) == 0 {
		return s
	}
	variance, held := 0.0, h.Of(key).ByStack
	add := func(stack uint64, bytes event.Bytes) {
		if most, isSampled := h.Known.sampled[stack]; isSampled {
			s.Sampled += bytes
			variance += float64(most) * float64(bytes)
		}
	}
	for stack, size := range held {
		add(stack, size)
	}
	all.each(h, key, func(y *Tally) { add(y.stack, y.AtPeak-held[y.stack]) })
	s.SampledError = event.Bytes(math.Sqrt(max(0, variance)))
	return s
}

// makeIdle turns tallies that hold nothing into idle ones. A tally stays if its stack may still be streamed. It also
// stays if it moved since the last cell of the process ended: Since is still needed.
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
	all.recent = nil
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

// isDue reports whether it is time to call makeIdle.
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

// hasTally reports whether a stack has a tally.
func (all *Tallies) hasTally(h *Holdings, stack uint64) bool {
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
	if busy := all.ByStack[stack]; busy != nil {
		y = *busy
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

// MinBusy is the number of tallies from which makeIdle is called.
const MinBusy = 1 << 10

// Move replaces a block by another; a block of size 0 is none. times is the number of allocations that the new block
// stands for, cells the number of cells of the process that are over. Settled tallies are marked as wrong instead.
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
			all.add(y, -before.Size, cells)
		}
	}
	if after.Size > 0 {
		if y := all.Of(h, key, after.Stack); y != nil {
			y.Allocated += after.Size
			y.Count += times
			all.add(y, after.Size, cells)
		}
	}
	if total := h.Of(key).Total; total > all.Highest {
		all.Highest = total
		if !all.byValue {
			all.recordPeak()
		}
	}
}

// FollowValue finds the peak from now on by the meter's value, not by the sum of the known blocks: blocks that are not
// streamed move the meter, too. Until now both were the same. from is the value before the first such block.
func (all *Tallies) FollowValue(h *Holdings, key course.Key, from event.Bytes) {
	if !all.byValue {
		all.byValue, all.value = true, from+all.Highest-h.Of(key).Total
	}
}

// RecordValue takes in the meter's present value, which may be a new peak.
func (all *Tallies) RecordValue(value event.Bytes) {
	if all.ByStack != nil && value > all.value {
		all.value = value
		all.recordPeak()
	}
}

// IsOpen reports whether the tallies are not summed up.
func (all *Tallies) IsOpen() bool { return all != nil && all.ByStack != nil }
