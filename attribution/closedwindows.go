package attribution

import (
	"slices"
)

const (
	// maxPatient is the most windows that may wait for changes that may be lost.
	maxPatient = 1 << 12
	// maxUnsettled is the most windows that may close at one boundary before they are settled.
	maxUnsettled = 128
)

// closedWindows are the windows that closed a short while ago: late changes may still belong to them.
type closedWindows struct {
	processes *processes
	closing   []*window          // closed, but not settled
	settled   []*window          // settled, but not archived
	over      []*window          // sessions and lives
	cells     map[uint64]*window // the cells among these
}

// add takes in a window that has closed. isFull: many closed at once, and have to be settled.
func (cw *closedWindows) add(w *window) (isFull bool) {
	if w.kind == kindSession || w.kind == kindLife { // their tallies are the report's lines
		cw.over = append(cw.over, w)
		return false
	}
	cw.closing = append(cw.closing, w)
	return len(cw.closing) > 2*maxUnsettled
}

// all returns the windows of all processes.
func (cw *closedWindows) all() []*window { return slices.Concat(cw.closing, cw.settled, cw.over) }

// remember records that a cell is over.
func (cw *closedWindows) remember(cell *window) { cw.cells[cell.cell] = cell }

// cell returns a cell that is over; nil if that is long ago.
func (cw *closedWindows) cell(id uint64) *window { return cw.cells[id] }

// with returns the windows of a process that are over, hold a segment and can still take in a change of it.
func (cw *closedWindows) with(pid int32, root uint32, segment uint64) (found []*window) {
	p := cw.processes.byPID[pid]
	if p == nil {
		return nil
	}
	for _, w := range cw.of(p) {
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

// of returns the windows that are over and not archived; of session windows only those of one process.
func (cw *closedWindows) of(of *process) []*window {
	all := slices.Concat(cw.closing, cw.settled)
	for _, w := range []*window{of.session, of.whole} {
		if w != nil && !w.isOpen {
			all = append(all, w)
		}
	}
	return all
}

// due returns the number of windows that closed long enough ago to be settled.
func (cw *closedWindows) due() (n int) {
	for _, w := range cw.closing[:max(0, len(cw.closing)-lingering)] {
		if r := cw.processes.root(w.root); r.ordered.WaitsFor(w.closeStream) && len(cw.closing) < maxPatient {
			break
		}
		n++
	}
	return n
}

// move moves the windows that have been settled to the others, and returns those that are old enough to be archived.
func (cw *closedWindows) move(n int) (old []*window) {
	cw.settled = append(cw.settled, cw.closing[:n]...)
	cw.closing = slices.Delete(cw.closing, 0, n)
	return cw.settled[:max(0, len(cw.settled)-horizon)]
}

// drop takes out the oldest windows: they have been archived.
func (cw *closedWindows) drop(old []*window) {
	for _, w := range old {
		if cw.cells[w.cell] == w {
			delete(cw.cells, w.cell)
		}
	}
	cw.settled = slices.Delete(cw.settled, 0, len(old))
}
