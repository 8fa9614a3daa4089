package attribution

import (
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

// beforeMove remembers how much was there when the first block of a meter moves in a window.
func (w *window) beforeMove(h *holdings, key heldKey) {
	if w.kind == kindBetween || w.tallies[key.meter] != nil {
		return
	}
	if w.tallies == nil {
		w.tallies = map[event.Meter]*tallies{}
	}
	if w.isSettled {
		w.tallies[key.meter] = &tallies{done: &settled{}}
		return
	}
	total := h.of(key).total
	w.tallies[key.meter] = &tallies{byStack: map[uint64]*tally{}, highest: total, first: total}
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

func (w *window) move(h *holdings, key heldKey, before, after block, times int64) {
	all := w.tallies[key.meter]
	if w.isSettled && all != nil {
		all.wrong = true
		return
	}
	if all == nil { // the time between cells is not listed
		return
	}
	if all.isWarm() {
		all.cool(h, key, w.process.ranCells)
	}
	if before.size > 0 {
		if y := all.of(h, key, before.stack); y != nil {
			y.freed += before.size
			all.moves(y, -before.size, w.process.ranCells)
		}
	}
	if after.size > 0 {
		if y := all.of(h, key, after.stack); y != nil {
			y.allocated += after.size
			y.count += times
			all.moves(y, after.size, w.process.ranCells)
		}
	}
	if total := h.of(key).total; total > all.highest {
		all.highest = total
		if !all.byValue {
			all.isAtPeak()
		}
	}
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

// settled is what is left of a window's tallies of one meter once nothing can change them any more.
type settled struct {
	tallies []doneTally // the most at the peak first
	// rest is what is not in tallies: how many stacks, and what they add up to.
	rest     doneTally
	stacks   int
	known    event.Bytes // at the peak, of all stacks
	net      event.Bytes // of all stacks
	heaviest event.Bytes // at the peak or allocated, of one stack
	sampled  event.Bytes // of known, what samples stand for
	isShort  bool        // tallies are what a report lists, and the rest of them is in rest
}

// doneTally is a tally without what counting needs.
type doneTally struct {
	stack            uint64
	allocated, freed event.Bytes
	count            int64
	atPeak           event.Bytes
	sampled          bool // some of it is estimated from samples
}
