package stacks

import (
	"cmp"
	"slices"

	"github.com/google/btree"

	"ipytracer/attribution/internal/course"
	"ipytracer/event"
)

// holding has the bytes that a process holds on a meter of blocks, by allocating stack. A window has tallies only of
// the stacks that did something in it, and uses the holding for all others.
type holding struct {
	ByStack map[uint64]event.Bytes
	Total   event.Bytes
	order   *btree.BTreeG[stackSize] // the same, the largest first; nil up to about fewStacks
}

// holds is the memory that a stack has.
type stackSize struct {
	size  event.Bytes
	stack uint64
}

func newHolding() *holding { return &holding{ByStack: map[uint64]event.Bytes{}} }

// Add adds bytes that a stack allocated, or with a negative size freed.
func (h *holding) Add(stack uint64, size event.Bytes) {
	before := h.ByStack[stack]
	after := before + size
	h.Total += size
	if after == 0 {
		delete(h.ByStack, stack)
	} else {
		h.ByStack[stack] = after
	}
	switch {
	case h.order != nil:
		if before != 0 {
			h.order.Delete(stackSize{before, stack})
		}
		if after != 0 {
			h.order.ReplaceOrInsert(stackSize{after, stack})
		}
		if len(h.ByStack) < fewStacks/2 {
			h.order = nil
		}
	case len(h.ByStack) > fewStacks:
		h.order = btree.NewG(32, func(a, b stackSize) bool { return compareHolds(a, b) < 0 })
		for stack, size := range h.ByStack {
			h.order.ReplaceOrInsert(stackSize{size, stack})
		}
	}
}

func compareHolds(a, b stackSize) int {
	return cmp.Or(cmp.Compare(b.size, a.size), cmp.Compare(a.stack, b.stack))
}

// eachLargest calls do for the stacks, the largest first, until do returns false.
func (h *holding) eachLargest(do func(stackSize) bool) {
	if h.order != nil {
		h.order.Ascend(do)
		return
	}
	sizes := make([]stackSize, 0, fewStacks)
	for stack, size := range h.ByStack {
		sizes = append(sizes, stackSize{size, stack})
	}
	slices.SortFunc(sizes, compareHolds)
	for _, size := range sizes {
		if !do(size) {
			return
		}
	}
}

// Holdings has what all processes hold, and counts the tallies of windows.
type Holdings struct {
	Known   *Table
	Held    map[course.Key]*holding
	Entries int // tallies of all windows that are not settled
	Dropped int // blocks and tallies that found no room
	spare   spareLists
	key     course.Key // of last
	last    *holding   // the one that was asked for last: most changes are of one meter
}

// NewHoldings returns holdings of nothing.
func NewHoldings(stacks *Table) *Holdings {
	return &Holdings{Known: stacks, Held: map[course.Key]*holding{}}
}

// Of returns the memory that a process has on a meter.
func (h *Holdings) Of(key course.Key) *holding {
	if h.last != nil && h.key == key {
		return h.last
	}
	held := h.Held[key]
	if held == nil {
		held = newHolding()
		h.Held[key] = held
	}
	h.key, h.last = key, held
	return held
}

// Drop forgets the memory that a process has on a meter.
func (h *Holdings) Drop(key course.Key) {
	delete(h.Held, key)
	h.last = nil
}

// fewStacks is the number of stacks up to which sorting them anew costs less than keeping them in order.
const fewStacks = 64
