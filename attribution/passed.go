package attribution

import (
	"cmp"
	"slices"

	"ipytracer/event"
)

// What goes after the cell that made it: too late, or because an exception was not the last one any more.

// lateBy is how long after its cell's end a block must go to have been freed late: what IPython does after a cell takes
// less.
const lateBy = event.Nanoseconds(1e9)

// free decides whether a block went too late: when no cell ran, or because an exception was not the last one any more.
func (a *audit) free(w *window, at place, b kept, c *event.Change) {
	if w == nil || b.birth == nil || b.birth.cell == nil || b.birth.cell.isOpen {
		return
	}
	var release *window
	if b.birth.failed() {
		release = a.failureBetween(b.birth.cell, c)
	}
	if w.kind == kindBetween {
		leaving := a.leaving[c.PID]
		if leaving == nil {
			leaving = map[place]left{}
			a.leaving[c.PID] = leaving
		}
		if len(leaving) >= maxBlocks {
			a.dropped++
			return
		}
		leaving[at] = left{b, c.Time, release, c.Collected}
		return
	}
	switch cell := w.birth.cell; {
	case !b.birth.failed() || cell == b.birth.cell:
	case release != nil && c.Collected:
		a.pass(passing{pid: c.PID, meter: at.meter, stack: b.stack, birth: b.birth, release: release}, b, c.Time)
	default: // the statement has not ended
		a.pass(passing{c.PID, at.meter, b.stack, b.birth, cell, w.birth}, b, c.Time)
	}
}

// failureBetween is the first cell that failed after another one had ended, if it has before a change. An exception is
// the last one, in sys and in IPython, until the next comes, and has its frames. They refer to it as well: what the
// next exception does not free at once goes with the garbage collector, whenever that runs.
func (a *audit) failureBetween(cell *window, c *event.Change) *window {
	all := a.failures[c.PID]
	i, _ := slices.BinarySearchFunc(all, cell.closed, func(f *window, closed event.Nanoseconds) int {
		return cmp.Compare(f.closed, closed)
	})
	for ; i < len(all) && all[i].lastSegment < c.Segment; i++ {
		if all[i].opened >= cell.closed && all[i].root == c.Root {
			return all[i]
		}
	}
	return nil
}

func (a *audit) pass(key passing, b kept, freed event.Nanoseconds) {
	p := a.gone[key]
	if p == nil {
		if len(a.gone) >= maxTallies {
			a.dropped++
			return
		}
		p = &passed{first: b.at}
		a.gone[key] = p
	}
	p.bytes += b.size
	p.count++
	p.first, p.last = min(p.first, b.at), max(p.last, freed)
}

// settleLeaving: the process goes on, so what was freed when no cell ran was freed late, or an exception had it.
func (a *audit) settleLeaving(pid int32) {
	for at, b := range a.leaving[pid] {
		key := passing{pid: pid, meter: at.meter, stack: b.stack, birth: b.birth}
		switch {
		case b.release != nil && (b.collected || b.freed-b.release.closed < lateBy):
			key.release = b.release
		case b.collected, b.freed-b.birth.cell.closed < lateBy: // garbage, which waits for the collector, is no leak
			continue
		}
		a.pass(key, b.kept, b.freed)
	}
	delete(a.leaving, pid)
}

// unmap remembers that a piece went in a later cell than the one that mapped it, or between cells.
func (a *audit) unmap(in *window, p piece, pid int32) {
	if in == nil || p.birth == nil || p.birth.cell == nil {
		return
	}
	if in.birth.cell != nil {
		in = in.birth.cell
	}
	if in == p.birth.cell {
		return
	}
	key := unmapping{pid, p.stack, p.birth, in}
	if _, known := a.unmapped[key]; !known && len(a.unmapped) >= maxTallies {
		a.dropped++
		return
	}
	a.unmapped[key] += p.size()
}
