package blocks

import (
	"slices"

	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/stacks"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
)

// Takes reports whether [Blocks.Move] uses a change: the change of a block, or a value from which a meter fell.
func (a *Blocks) Takes(c *event.Change) bool {
	return c.IsTurn() || c.IsBlock() || c.Meter == event.Resident || c.IsCopy()
}

// Move takes in a change of a block or a range. It changes the live blocks, and the windows of the change's segment.
func (a *Blocks) Move(r *windows.Tree, c *event.Change) {
	if a.GivenUp != "" {
		return
	}
	if c.Caller.Moves() { // the blocks still belong to the process, wherever they are
		return
	}
	if c.Meter == event.Resident && !c.Block {
		a.recordFall(c)
		if a.touched.has(c.PID) {
			a.moveTurn(r, c)
		}
		return
	}
	if p := a.Processes.ByPID[c.PID]; p != nil {
		p.Counted = a.Session.Cut
	}
	switch {
	case c.IsCopy():
		a.copies.add(c.PID, makerAt(a, c.PID, c.Address), c.Represents())
	case c.IsTouch():
		a.moveTouched(r, c)
	case c.Meter == event.Mapped:
		a.MoveRange(r, c)
	case c.IsTurn():
		a.moveTurn(r, c)
	default:
		a.moveBlock(r, c)
	}
}

// moveBlock adds, resizes or removes a block of an allocator.
func (a *Blocks) moveBlock(r *windows.Tree, c *event.Change) {
	key := course.Key{PID: c.PID, Meter: c.Meter}
	before, after, isKnown := a.put(r, c, key)
	if !isKnown {
		return
	}
	cs := a.affectedBy(r, c)
	cs.times = timesOf(c)
	if c.Found {
		cs.moveToLater(r.ArrayPauseOf(c))
	}
	if c.Unchained {
		a.Unstreamed = true
		a.followValue(cs, key, c.Value-c.Size)
	}
	a.replace(cs, key, before, after)
	if c.Unchained {
		cs.recordValue(key.Meter, c.Value)
	}
	if !c.Sample && a.touched.has(c.PID) && slices.Contains(c.Meter.Facts().Within, event.Mapped) {
		a.touched.of[c.PID].keep(c.Address, after, a.Stacks.Room.Blocks)
		if c.Size > 0 && !c.Found {
			takeOver(a, cs, c, after)
		}
	}
}

// takeOver gives the pages that were resident before a block was allocated there to the block's line: the line that
// touched them first has given them back to the allocator.
func takeOver(a *Blocks, cs affected, c *event.Change, block stacks.Block) {
	key, pages := course.Key{PID: c.PID, Meter: event.Resident}, a.touched.of[c.PID]
	found := pages.within(c.Address, c.Address+uint64(block.Size))
	if len(found) > 0 {
		a.followValue(cs, key, pages.value)
	}
	for _, p := range found {
		before := p.block
		p.block.Stack = a.Stacks.Sample(c.Stack, before.Size)
		if p.block.Stack != before.Stack {
			pages.tree.ReplaceOrInsert(p)
			a.replace(cs, key, before, p.block)
		}
	}
}

// put applies a change to the live blocks, and returns the block as it was and as it is now. isKnown is false if there
// was no room, or if the change frees an unknown block, allocated before the attach or by a lost change.
func (a *Blocks) put(r *windows.Tree, c *event.Change, key course.Key) (before, after stacks.Block, isKnown bool) {
	at := stacks.BlockKey{Key: key, Address: c.Address}
	before, isLive := a.Live[at]
	if !isLive && c.Size < 0 {
		return before, after, false
	}
	after = stacks.Block{Size: before.Size + c.Size, Stack: c.Stack}
	switch {
	case c.Sample:
		after = sampled(a.Stacks, c)
	case c.Found && isLive:
		after.Stack = before.Stack
	case c.Found && c.Size > 0:
		after.Stack = a.finds.StackOf(r, c)
	}
	if after.Size <= 0 {
		delete(a.Live, at)
		return before, stacks.Block{}, true
	}
	if hasRoom := len(a.Live) < a.Stacks.Room.Blocks; !isLive && !hasRoom {
		a.Holdings.Dropped++
		a.Flow.Drop(key, c.Size)
		return before, after, false
	}
	a.Live[at] = after
	return before, after, true
}

// Forget drops all blocks of some meters of a root: their changes are not reported for a while. The recorded
// allocations of windows, and the memory held at their peaks so far, stay.
func (a *Blocks) Forget(root uint32, which func(event.Meter) bool) {
	inRoot := func(pid int32) bool { p := a.Processes.ByPID[pid]; return p != nil && p.Root == root }
	for at := range a.Live {
		if which(at.Meter) && inRoot(at.PID) {
			delete(a.Live, at)
		}
	}
	for pid, pages := range a.touched.of {
		if inRoot(pid) {
			pages.large.Clear(false)
		}
	}
	for key := range a.Holdings.Held {
		if which(key.Meter) && inRoot(key.PID) {
			a.CopyAll(key)
			a.Holdings.Drop(key)
			if p := a.Processes.ByPID[key.PID]; p.Crest != nil {
				p.Crest.Lose()
			}
		}
	}
	for _, w := range a.Processes.Tree(root).Counted {
		w.ClearHeld(which)
	}
}

// If a program allocates small blocks by the hundred thousand, only samples of them are streamed. The meter counts all
// blocks, but the others have no stack. A sample stands for [event.Change.Represents]. Its stack gets a second number,
// with the same calls, which marks sums of samples as estimates.

// sampled returns the block that a sample stands for; an empty one for a free.
func sampled(known *stacks.Table, c *event.Change) stacks.Block {
	if c.Size <= 0 {
		return stacks.Block{}
	}
	return stacks.Block{Size: c.Represents(), Stack: known.Sample(c.Stack, c.Represents())}
}

// moveTouched takes in pages that became resident, ceased to be, or were moved by mremap.
func (a *Blocks) moveTouched(r *windows.Tree, c *event.Change) {
	key, cs := course.Key{PID: c.PID, Meter: event.Resident}, a.affectedBy(r, c)
	page, hasRoom := touchedPage{address: c.Address}, false
	var gone []touchedPage
	switch {
	case c.Meter == event.Mapped:
		gone = a.touched.remap(c)
	case !c.Sample:
		gone = a.touched.give(c)
	default:
		page.block = sampled(a.Stacks, c)
		if pages := a.touched.of[c.PID]; c.Stack == 0 && pages != nil {
			page.block.Stack = a.Stacks.Sample(pages.lineAt(c.Address), page.block.Size)
		}
		if gone, hasRoom = a.touched.touch(c.PID, page, a.Stacks.Room.Blocks); !hasRoom {
			a.Holdings.Dropped++
			a.Flow.Drop(key, c.Represents())
		}
		a.followValue(cs, key, c.Value-c.Size)
	}
	a.touched.follow(c, gone)
	for _, p := range gone {
		a.replace(cs, key, p.block, stacks.Block{})
	}
	if hasRoom {
		cs.times = timesOf(c)
		a.replace(cs, key, stacks.Block{}, page.block)
		cs.recordValue(key.Meter, c.Value)
	}
}

// moveTurn takes in a value from which a meter fell when a block that was not streamed was freed. The blocks that are
// live now were live at that value.
func (a *Blocks) moveTurn(r *windows.Tree, c *event.Change) {
	key := course.Key{PID: c.PID, Meter: c.Meter}
	a.Unstreamed = a.Unstreamed || c.Meter != event.Resident
	cs := a.affectedBy(r, c)
	for _, w := range cs.in {
		a.beginTallies(w, key)
	}
	a.followValue(cs, key, c.Value-c.Size)
	cs.recordValue(key.Meter, c.Value)
}
