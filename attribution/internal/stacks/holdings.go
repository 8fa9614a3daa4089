package stacks

import (
	"cmp"
	"slices"

	"github.com/google/btree"

	"ipytracer/attribution/internal/course"
	"ipytracer/event"
)

// holding is the memory of a process on a meter of blocks, by allocating stack. A window refers to it for all stacks
// that did nothing in the window; the window's own tallies are of the others.
type holding struct {
	ByStack map[uint64]event.Bytes
	Total   event.Bytes
	order   *btree.BTreeG[holds] // the same, the largest first; nil where there are fewStacks
}

// holds is the memory that a stack has.
type holds struct {
	size  event.Bytes
	stack uint64
}

func newHolding() *holding { return &holding{ByStack: map[uint64]event.Bytes{}} }

// Add adds bytes that a stack allocated; a negative size takes bytes away.
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
			h.order.Delete(holds{before, stack})
		}
		if after != 0 {
			h.order.ReplaceOrInsert(holds{after, stack})
		}
		if len(h.ByStack) < fewStacks/2 {
			h.order = nil
		}
	case len(h.ByStack) > fewStacks:
		h.order = btree.NewG(32, func(a, b holds) bool { return compareHolds(a, b) < 0 })
		for stack, size := range h.ByStack {
			h.order.ReplaceOrInsert(holds{size, stack})
		}
	}
}

func compareHolds(a, b holds) int {
	return cmp.Or(cmp.Compare(b.size, a.size), cmp.Compare(a.stack, b.stack))
}

// most calls do for the stacks, the largest first, until do returns false.
func (h *holding) most(do func(holds) bool) {
	if h.order != nil {
		h.order.Ascend(do)
		return
	}
	all := make([]holds, 0, fewStacks)
	for stack, size := range h.ByStack {
		all = append(all, holds{size, stack})
	}
	slices.SortFunc(all, compareHolds)
	for _, one := range all {
		if !do(one) {
			return
		}
	}
}

// Holdings are the memory that all processes have, and the number of tallies that windows made of it.
type Holdings struct {
	Known   *Table
	Held    map[course.Key]*holding
	Entries int // tallies of all windows that are not settled
	Dropped int // blocks and tallies that found no room
	spare   spareLists
}

// NewHoldings returns holdings of nothing.
func NewHoldings(stacks *Table) *Holdings {
	return &Holdings{Known: stacks, Held: map[course.Key]*holding{}}
}

// Of returns the memory that a process has on a meter.
func (h *Holdings) Of(key course.Key) *holding {
	one := h.Held[key]
	if one == nil {
		one = newHolding()
		h.Held[key] = one
	}
	return one
}

// fewStacks is the number of stacks up to which they are searched one after another.
const fewStacks = 64
