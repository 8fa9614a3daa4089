package attribution

import (
	"slices"

	"ipytracer/event"
)

// takes reports whether a change is of a block, or of a value that a meter fell from.
func (a *allocations) takes(c *event.Change) bool { return c.IsTurn() || c.IsBlock() }

// move takes in what became of a block or a range, in the ledger of blocks and in the windows of its segment.
func (a *allocations) move(r *root, c *event.Change) {
	if a.givenUp != "" {
		return
	}
	if c.Caller.Moves() { // the blocks are still the process's, wherever they are
		return
	}
	if p := a.processes.byPID[c.PID]; p != nil {
		p.counted = a.session.cut
	}
	switch {
	case c.Meter == event.Mapped:
		a.moveRange(r, c)
	case c.IsTurn():
		a.turn(r, c)
	default:
		a.moveBlock(r, c)
	}
}

// moveBlock makes, resizes or frees a block of an allocator.
func (a *allocations) moveBlock(r *root, c *event.Change) {
	key := heldKey{c.PID, c.Meter}
	before, after, isKnown := a.put(r, c, key)
	if !isKnown {
		return
	}
	windows := a.concerned(r, c)
	windows.times = timesOf(c)
	if c.Found {
		windows.sinceBefore(r.blankOf(c))
	}
	if c.Unchained {
		a.untold = true
		windows.follow(a.holdings, key, c)
	}
	a.replace(windows, key, before, after)
	if c.Unchained {
		windows.stood(a.holdings, key, c.Value)
	}
}

// put changes the ledger of blocks, and returns what was there and what is. isKnown is false where the block was made
// before the attach, or lost, or found no room.
func (a *allocations) put(r *root, c *event.Change, key heldKey) (before, after block, isKnown bool) {
	at := blockKey{key, c.Address}
	before, known := a.blocks[at]
	after = block{size: before.size + c.Size, stack: c.Stack}
	switch {
	case c.Sample:
		after = a.sampled(c)
	case c.Found && known:
		after.stack = before.stack
	case c.Found && c.Size > 0:
		after.stack = a.finds.stackOf(r, c)
	}
	switch {
	case !known && c.Size < 0:
		return before, after, false
	case after.size <= 0:
		delete(a.blocks, at)
		return before, block{}, true
	case !known && len(a.blocks) >= maxBlocks:
		a.holdings.dropped++
		return before, after, false
	}
	a.blocks[at] = after
	return before, after, true
}

// replace puts one block in the place of another, in the totals of a process and in windows. Either may be none.
func (a *allocations) replace(windows concerned, key heldKey, before, after block) {
	for _, w := range windows.in {
		w.beforeMove(a.holdings, key)
	}
	if before.size > 0 {
		a.hold(windows, key, before.stack, -before.size)
	}
	if after.size > 0 {
		a.hold(windows, key, after.stack, after.size)
	}
	for _, w := range windows.in {
		w.move(a.holdings, key, before, after, windows.times)
	}
}

// hold changes what a process has of a stack. The windows that saw it so far and are not to see this get a tally of
// what it had.
func (a *allocations) hold(windows concerned, key heldKey, stack uint64, by event.Bytes) {
	for _, w := range windows.later {
		if all := w.tallies[key.meter]; all != nil && all.byStack != nil {
			all.shift(a.holdings, key, stack, by)
		}
	}
	for _, w := range a.lately(key.pid) {
		if all := w.tallies[key.meter]; all != nil && all.byStack != nil && !slices.Contains(windows.later, w) {
			all.of(a.holdings, key, stack)
		}
	}
	for _, w := range windows.in {
		if all := w.tallies[key.meter]; all != nil && all.byStack != nil {
			all.of(a.holdings, key, stack)
		}
	}
	a.holdings.of(key).add(stack, by)
}

// copyAll gives all windows of a process that know of a meter's blocks tallies of all that it has: that is to be
// forgotten.
func (a *allocations) copyAll(key heldKey) {
	p := a.processes.byPID[key.pid]
	if p == nil {
		return
	}
	for _, w := range slices.Concat(p.windows, a.lately(key.pid)) {
		if all := w.tallies[key.meter]; all != nil && all.byStack != nil {
			a.copyInto(all, key)
		}
	}
}

// copyInto gives tallies all that a process has.
func (a *allocations) copyInto(all *tallies, key heldKey) {
	for stack := range a.holdings.of(key).byStack {
		all.of(a.holdings, key, stack)
	}
}

// forget drops all blocks of some meters of a root: what becomes of them is not told for a while. What windows know
// that they allocated, and held at the peak so far, stays.
func (a *allocations) forget(root uint32, which func(event.Meter) bool) {
	of := func(pid int32) bool { p := a.processes.byPID[pid]; return p != nil && p.root == root }
	for at := range a.blocks {
		if which(at.meter) && of(at.pid) {
			delete(a.blocks, at)
		}
	}
	for key := range a.holdings.held {
		if which(key.meter) && of(key.pid) {
			a.copyAll(key)
			delete(a.holdings.held, key)
		}
	}
	for _, w := range a.processes.root(root).counted {
		w.forget(which)
	}
}

func (w *window) forget(which func(event.Meter) bool) {
	for m, all := range w.tallies {
		if which(m) {
			for _, y := range all.byStack {
				y.held = 0
			}
		}
	}
}
