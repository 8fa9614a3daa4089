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
	order   *btree.BTreeG[holds] // the same, the largest first; nil where there are fewStacks
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
		if len(h.byStack) < fewStacks/2 {
			h.order = nil
		}
	case len(h.byStack) > fewStacks:
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
	all := make([]holds, 0, fewStacks)
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

// copied returns a copy of a window's tallies, by meter.
func (h *holdings) copied(of map[event.Meter]*tallies) map[event.Meter]*tallies {
	if of == nil {
		return nil
	}
	out := make(map[event.Meter]*tallies, len(of))
	for m, all := range of {
		out[m] = all.clone()
		h.entries += all.len()
	}
	return out
}

// forgo drops a window's tallies.
func (h *holdings) forgo(of map[event.Meter]*tallies) {
	for _, all := range of {
		h.entries -= all.len()
	}
}

// settle sums up the tallies of a process in a window, and keeps most stacks of each meter.
func (h *holdings) settle(of map[event.Meter]*tallies, pid int32, most int) {
	for m, all := range of {
		h.entries -= all.len()
		all.done = all.settle(h, course.Key{PID: pid, Meter: m}, most)
		all.byStack, all.moved, all.cold = nil, nil, cold{}
	}
}

// archived takes back the memory of tallies that have been turned into bytes.
func (h *holdings) archived(of map[event.Meter]*tallies) {
	for _, all := range of {
		h.spare.from(all.done.tallies)
	}
}

// tallies returns the tallies of a window in which a meter moves for the first time: none, if the window is settled.
func (h *holdings) tallies(key course.Key, isSettled bool) *tallies {
	if isSettled {
		return &tallies{done: &settled{}}
	}
	total := h.of(key).total
	return &tallies{byStack: map[uint64]*tally{}, highest: total, first: total}
}

// fewStacks is the number of stacks up to which they are searched one after another.
const fewStacks = 64
