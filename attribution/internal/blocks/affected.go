package blocks

import (
	"slices"

	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/stacks"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
)

// affected are the windows that a change concerns.
type affected struct {
	in    []*windows.Window // they hold the change's segment
	later []*windows.Window // opened after a late change: they took the known values for complete
	times int64             // the number of allocations that the change stands for
}

func (a *Blocks) affectedBy(r *windows.Tree, c *event.Change) affected {
	found := affected{in: a.windowsOf(r, c), times: 1}
	if c.Segment > r.Ended {
		return found
	}
	later := func(w *windows.Window) {
		if w.Process.Info.PID == c.PID && w.Root == c.Root && w.FirstSegment > c.Segment {
			found.later = append(found.later, w)
		}
	}
	if p := a.Processes.ByPID[c.PID]; p != nil {
		for _, w := range p.Windows {
			later(w)
		}
		for _, w := range a.Table.Closed.Of(p) {
			later(w)
		}
	}
	return found
}

// unsettled returns the windows of a process that are over and not settled yet.
func (a *Blocks) unsettled(pid int32) []*windows.Window {
	p := a.Processes.ByPID[pid]
	if p == nil {
		return nil
	}
	found := a.closed[:0]
	for _, w := range a.Table.Closed.Closing {
		if w.Process == p && len(w.Tallies) > 0 {
			found = append(found, w)
		}
	}
	for _, w := range []*windows.Window{p.Session, p.Lifetime} {
		if w != nil && !w.IsOpen && len(w.Tallies) > 0 {
			found = append(found, w)
		}
	}
	for _, w := range p.Open {
		if s := w.AtResult; s != nil && len(s.Tallies) > 0 {
			found = append(found, s)
		}
	}
	a.closed = found
	return found
}

// windowsOf returns the windows of a process that hold a change's segment. The result is valid until the next call.
func (a *Blocks) windowsOf(r *windows.Tree, c *event.Change) []*windows.Window {
	p := a.Processes.ByPID[c.PID]
	if p == nil {
		return nil
	}
	found := a.in[:0]
	defer func() { a.in = found }()
	for _, w := range p.Windows {
		if w.Root == c.Root && w.FirstSegment <= c.Segment {
			found = append(found, w)
		}
	}
	if c.Segment > r.Ended {
		return found
	}
	found = append(found, a.Table.Closed.With(c.PID, c.Root, c.Segment)...) // the change comes late
	return found
}

// sinceBefore moves windows that hold the segment of a block that a search found to the later ones: the block may have
// come or gone before they opened. They have it, or do not have it, from their beginning.
func (c *affected) sinceBefore(b *windows.ArrayPause) {
	c.in = slices.DeleteFunc(c.in, func(w *windows.Window) bool {
		if w.Kind == windows.KindSession || w.Kind == windows.KindLife || b != nil && w.FirstSegment <= b.Segment {
			return false
		}
		c.later = append(c.later, w)
		return true
	})
}

// follow has windows find their peaks by the meter's value, see [stacks.Tallies.Follow]. It is called before the change
// is applied.
func (a *Blocks) follow(cs affected, key course.Key, c *event.Change) {
	from := c.Value - c.Size
	for _, w := range cs.in {
		a.beforeMove(w, key)
		if all := w.Tallies[key.Meter]; all != nil {
			all.Follow(a.Holdings, key, from)
		}
	}
	cs.stands(key.Meter, from)
}

// stands records that a meter has a value now.
func (cs affected) stands(m event.Meter, value event.Bytes) {
	for _, w := range cs.in {
		if all := w.Tallies[m]; all != nil {
			all.Stands(value)
		}
	}
}

// timesOf returns the number of blocks that the block of a change stands for.
func timesOf(c *event.Change) int64 {
	if !c.Sample || c.Size <= 0 || c.Size > event.SampleOf {
		return 1
	}
	return int64((event.SampleOf + c.Size/2) / c.Size)
}

// replace puts one block in the place of another, in the totals of a process and in windows. A block of size 0 is none.
func (a *Blocks) replace(cs affected, key course.Key, before, after stacks.Block) {
	for _, w := range cs.in {
		a.beforeMove(w, key)
	}
	if before.Size > 0 {
		a.hold(cs, key, before.Stack, -before.Size)
	}
	if after.Size > 0 {
		a.hold(cs, key, after.Stack, after.Size)
	}
	for _, w := range cs.in {
		if all := w.Tallies[key.Meter]; all != nil {
			all.Move(a.Holdings, key, before, after, cs.times, w.Process.RanCells)
		}
	}
	a.Flow.add(a.Holdings, key, after)
}

// hold changes the bytes that a process holds of a stack. The windows that have followed the process so far, but are
// not to have this change, get a tally of the bytes before it.
func (a *Blocks) hold(cs affected, key course.Key, stack uint64, by event.Bytes) {
	for _, w := range cs.later {
		if all := w.Tallies[key.Meter]; all.IsOpen() {
			all.Shift(a.Holdings, key, stack, by)
		}
	}
	for _, w := range a.unsettled(key.PID) {
		if all := w.Tallies[key.Meter]; all.IsOpen() && !slices.Contains(cs.later, w) {
			all.Of(a.Holdings, key, stack)
		}
	}
	for _, w := range cs.in {
		if all := w.Tallies[key.Meter]; all.IsOpen() {
			all.Of(a.Holdings, key, stack)
		}
	}
	a.Holdings.Of(key).Add(stack, by)
	a.crestMoves(key, stack, by)
}

// CopyAll gives all windows of a process that follow a meter's blocks tallies of all of the process's stacks: the
// process's own totals are about to be forgotten.
func (a *Blocks) CopyAll(key course.Key) {
	p := a.Processes.ByPID[key.PID]
	if p == nil {
		return
	}
	for _, w := range slices.Concat(p.Windows, a.unsettled(key.PID)) {
		if all := w.Tallies[key.Meter]; all.IsOpen() {
			copyInto(all, a.Holdings, key)
		}
	}
}

// copyInto adds tallies of all the stacks of a process.
func copyInto(all *stacks.Tallies, h *stacks.Holdings, key course.Key) {
	for stack := range h.Of(key).ByStack {
		all.Of(h, key, stack)
	}
}
