package attribution

import (
	"slices"

	"ipytracer/event"
)

// lately are the windows of a process that are over and not settled yet.
func (t *Tracker) lately(pid int32) []*window {
	p := t.processes.byPID[pid]
	if p == nil {
		return nil
	}
	found := t.found[:0]
	for _, w := range t.closing {
		if w.process == p && len(w.tallies) > 0 {
			found = append(found, w)
		}
	}
	for _, w := range []*window{p.session, p.whole} {
		if w != nil && !w.isOpen && len(w.tallies) > 0 {
			found = append(found, w)
		}
	}
	for _, w := range p.open {
		if s := w.atResult; s != nil && len(s.tallies) > 0 {
			found = append(found, s)
		}
	}
	t.found = found
	return found
}

// windowsOf are the windows of a process that hold a change's segment. They are forgotten when it is called again.
func (t *Tracker) windowsOf(r *root, c *event.Change) []*window {
	p := t.processes.byPID[c.PID]
	if p == nil {
		return nil
	}
	found := t.holding[:0]
	defer func() { t.holding = found }()
	for _, w := range p.windows {
		if w.root == c.Root && w.firstSegment <= c.Segment {
			found = append(found, w)
		}
	}
	if c.Segment > r.ended {
		return found
	}
	found = append(found, t.closedWith(c.PID, c.Root, c.Segment)...) // it comes late
	return found
}

// closedWith are the windows of a process that are over and hold a segment, and can still be told of it.
func (t *Tracker) closedWith(pid int32, root uint32, segment uint64) (found []*window) {
	p := t.processes.byPID[pid]
	if p == nil {
		return nil
	}
	for _, w := range t.closed(p) {
		if w.process == p && w.holds(root, segment) {
			found = append(found, w)
		}
	}
	for _, w := range p.open {
		if s := w.atResult; s != nil && s.holds(root, segment) {
			found = append(found, s)
		}
	}
	return found
}

// closed are the windows that are over and not archived; of sessions those of a process.
func (t *Tracker) closed(of *process) []*window {
	all := slices.Concat(t.closing, t.settled)
	for _, w := range []*window{of.session, of.whole} {
		if w != nil && !w.isOpen {
			all = append(all, w)
		}
	}
	return all
}
