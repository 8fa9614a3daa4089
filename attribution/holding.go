package attribution

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
	byStack map[uint64]event.Bytes
	total   event.Bytes
	order   *btree.BTreeG[holds] // the same, the largest first; nil where there are few
}

// holds is the memory that a stack has.
type holds struct {
	size  event.Bytes
	stack uint64
}

func newHolding() *holding { return &holding{byStack: map[uint64]event.Bytes{}} }

func (h *holding) add(stack uint64, size event.Bytes) {
	before := h.byStack[stack]
	after := before + size
	h.total += size
	if after == 0 {
		delete(h.byStack, stack)
	} else {
		h.byStack[stack] = after
	}
	switch {
	case h.order != nil:
		if before != 0 {
			h.order.Delete(holds{before, stack})
		}
		if after != 0 {
			h.order.ReplaceOrInsert(holds{after, stack})
		}
		if len(h.byStack) < few/2 {
			h.order = nil
		}
	case len(h.byStack) > few:
		h.order = btree.NewG(32, func(a, b holds) bool { return compareHolds(a, b) < 0 })
		for stack, size := range h.byStack {
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
	all := make([]holds, 0, few)
	for stack, size := range h.byStack {
		all = append(all, holds{size, stack})
	}
	slices.SortFunc(all, compareHolds)
	for _, one := range all {
		if !do(one) {
			return
		}
	}
}

// holdings are the memory that all processes have, and the number of tallies that windows made of it.
type holdings struct {
	stacks  *stackTable
	held    map[course.Key]*holding
	entries int // tallies of all windows that are not settled
	dropped int // blocks and tallies that found no room
	spare   spareLists
	// onlyCells: no other windows have tallies, and none of them is cold: stacks may be forgotten.
	onlyCells bool
}

func newHoldings(stacks *stackTable) *holdings {
	return &holdings{stacks: stacks, held: map[course.Key]*holding{}}
}

// of returns the memory that a process has on a meter.
func (h *holdings) of(key course.Key) *holding {
	one := h.held[key]
	if one == nil {
		one = newHolding()
		h.held[key] = one
	}
	return one
}
