package attribution

import "ipytracer/event"

// innermost is the statement, cell or time between cells of the process in which a change fell.
func (a *audit) innermost(r *root, c *event.Change) (found *window) {
	if c.Segment <= r.ended {
		return a.innermostBefore(c)
	}
	p := a.processes.byPID[c.PID]
	if p == nil {
		return nil
	}
	for _, w := range p.windows {
		if w.birth != nil && w.root == c.Root && w.firstSegment <= c.Segment &&
			(found == nil || w.firstSegment >= found.firstSegment) {
			found = w
		}
	}
	return found
}

// innermostBefore finds the innermost window for a change that comes late, among the last cells.
func (a *audit) innermostBefore(c *event.Change) *window {
	return a.table.latest(func(w *window) bool {
		return w.birth != nil && w.process.info.PID == c.PID && w.holds(c.Root, c.Segment)
	})
}

// start remembers which statement started a process, or the process that started it.
func (a *audit) start(b *event.Boundary) {
	from := a.started[b.Parent]
	if p := a.processes.byPID[b.Parent]; p != nil {
		for _, w := range p.windows {
			if w.root == b.Root && w.birth != nil && w.kind != kindBetween {
				from = w.birth
			}
		}
	}
	if from != nil {
		a.started[b.PID] = from
	} else {
		delete(a.started, b.PID)
	}
}

// blockAt returns the stack of a live block.
func (a *audit) blockAt(pid int32, m event.Meter, address uint64) (stack uint64, ok bool) {
	b, ok := a.live[pid][place{m, address}]
	return b.stack, ok
}

// rangeAt returns the stack of mapped memory.
func (a *audit) rangeAt(pid int32, address uint64) (stack uint64, ok bool) {
	return a.ranges[pid].stackAt(address)
}

// isWhole reports whether everything that came has found room.
func (a *audit) isWhole() bool { return a.stacks.dropped == 0 && a.dropped == 0 }
