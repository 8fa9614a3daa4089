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
	in    []*windows.Window // windows that contain the change's segment
	later []*windows.Window // windows that opened after a late change: they have its effect from their beginning
	times int64             // number of allocations that the change stands for
}

// affectedBy returns the windows that a change concerns. The result is valid until the next call.
func (a *Blocks) affectedBy(r *windows.Tree, c *event.Change) affected {
	found := affected{in: a.windowsOf(r, c), times: 1}
	if c.Segment > r.Ended {
		return found
	}
	addIfLater := func(w *windows.Window) {
		if w.Process.Info.PID == c.PID && w.Root == c.Root && w.FirstSegment > c.Segment {
			found.later = append(found.later, w)
		}
	}
	if p := a.Processes.ByPID[c.PID]; p != nil {
		for _, w := range p.Windows {
			addIfLater(w)
		}
		for _, w := range a.Table.Closed.NotArchived(p) {
			addIfLater(w)
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

// windowsOf returns the windows of a process that contain a change's segment. The result is valid until the next call.
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
	found = append(found, a.Table.Closed.Holding(c.PID, c.Root, c.Segment)...) // the change comes late
	return found
}

// moveToLater is called for a block that a search found after a pause. It moves the windows that did not span the whole
// pause from in to later: the block may have come or gone before they opened.
func (c *affected) moveToLater(b *windows.ArrayPause) {
	c.in = slices.DeleteFunc(c.in, func(w *windows.Window) bool {
		if w.Kind == windows.KindSession || w.Kind == windows.KindLife || b != nil && w.FirstSegment <= b.Segment {
			return false
		}
		c.later = append(c.later, w)
		return true
	})
}

// followValue makes windows find their peaks by the meter's value, see [stacks.Tallies.FollowValue]. It is called
// before a change from a value is applied.
func (a *Blocks) followValue(cs affected, key course.Key, from event.Bytes) {
	for _, w := range cs.in {
		a.beginTallies(w, key)
		if all := w.Tallies[key.Meter]; all != nil {
			all.FollowValue(a.Holdings, key, from)
		}
	}
	cs.recordValue(key.Meter, from)
}

// recordValue takes in the meter's present value, see [stacks.Tallies.RecordValue].
func (cs affected) recordValue(m event.Meter, value event.Bytes) {
	for _, w := range cs.in {
		if all := w.Tallies[m]; all != nil {
			all.RecordValue(value)
		}
	}
}

// timesOf returns the number of blocks that the block of a change stands for.
func timesOf(c *event.Change) int64 {
	if !c.Sample || c.Size <= 0 || c.Size > c.Represents() {
		return 1
	}
	return int64((c.Represents() + c.Size/2) / c.Size)
}

// replace replaces a block by another in the totals of a process and in windows. A block of size 0 is none.
func (a *Blocks) replace(cs affected, key course.Key, before, after stacks.Block) {
	for _, w := range cs.in {
		a.beginTallies(w, key)
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

// hold changes the bytes that a process holds by a stack. A window without a tally of the stack has the process's
// bytes. So the windows that must not get this change first get a tally with the bytes before it.
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
	a.moveCrest(key, stack, by)
}

// CopyAll gives all windows of a process tallies of all stacks by which the process holds blocks of a meter. It is
// called before these totals of the process are dropped.
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
