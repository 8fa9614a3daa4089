package blocks

import (
	"math"

	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/stacks"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
)

// MoveRange adds a range to the live ranges and to the windows of its segment, or takes it out of them.
func (a *Blocks) MoveRange(r *windows.Tree, c *event.Change) {
	if c.Caller == event.Remapped {
		a.moveTouched(r, c)
	}
	key, cs, dropped := course.Key{PID: c.PID, Meter: c.Meter}, a.affectedBy(r, c), a.Holdings.Dropped
	gone, made := stacks.RangesOf(a.Ranges, c.PID).Move(c, c.Stack, &a.Pieces, &a.Holdings.Dropped,
		a.Stacks.Room.Blocks)
	for _, p := range gone {
		a.replace(cs, key, stacks.Block{Size: p.Size(), Stack: p.Maker}, stacks.Block{})
	}
	switch {
	case made:
		a.replace(cs, key, stacks.Block{}, stacks.Block{Size: c.Size, Stack: c.Stack})
	case a.Holdings.Dropped > dropped:
		a.Flow.Drop(key, c.Size)
	}
}

// Boundary ends all ranges of a process that has executed another program.
func (a *Blocks) Boundary(_ *windows.Process, b *event.Boundary) {
	if b.Kind != event.ProcessExec || a.Ranges[b.PID] == nil && !a.touched.has(b.PID) {
		return
	}
	unmapAll := event.Change{Segment: b.Segment, Root: b.Root, PID: b.PID, Meter: event.Mapped, Size: -math.MaxInt64}
	a.MoveRange(a.Processes.Tree(b.Root), &unmapAll)
	a.Ended(b.PID)
}

// Ended drops the ranges and the pages of a process that has ended.
func (a *Blocks) Ended(pid int32) {
	if ranges := a.Ranges[pid]; ranges != nil {
		a.Pieces -= ranges.Len()
	}
	delete(a.Ranges, pid)
	a.touched.end(pid)
	for _, m := range []event.Meter{event.Mapped, event.Resident} {
		key := course.Key{PID: pid, Meter: m}
		a.CopyAll(key)
		if held := a.Held[key]; held != nil {
			for stack, size := range held.ByStack {
				a.moveCrest(key, stack, -size)
			}
		}
		a.Holdings.Drop(key)
	}
}
