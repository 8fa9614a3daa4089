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
	table     *windowTable
	ledger    ledger
	closing   []*window          // closed, but not settled
	settled   []*window          // settled, but not archived
	over      []*window          // sessions and lives
	cells     map[uint64]*window // the cells among these
}

// add takes in a window that has closed.
func (cw *closedWindows) add(w *window) {
	if w.kind == kindSession || w.kind == kindLife { // their tallies are the report's lines
		cw.over = append(cw.over, w)
		return
	}
	if cw.closing = append(cw.closing, w); len(cw.closing) > 2*maxUnsettled { // many close at once
		cw.settle()
	}
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

// settle settles the windows that closed long enough ago. It is called before a boundary: there, the same events have
// been taken in from a live session and from its recording.
func (cw *closedWindows) settle() {
	n := 0
	for _, w := range cw.closing[:max(0, len(cw.closing)-lingering)] {
		if r := cw.processes.root(w.root); r.ordered.WaitsFor(w.closeStream) && len(cw.closing) < maxPatient {
			break
		}
		n++
		w.isSettled = true
		cw.ledger.settle(w)
	}
	cw.settled = append(cw.settled, cw.closing[:n]...)
	cw.closing = slices.Delete(cw.closing, 0, n)
	cw.archiveOld()
}

// archiveOld archives the windows that closed long ago.
func (cw *closedWindows) archiveOld() {
	n := max(0, len(cw.settled)-horizon)
	for _, w := range cw.settled[:n] {
		r := cw.processes.root(w.root)
		r.archived = max(r.archived, w.lastSegment)
		cw.ledger.shorten(w)
		if cw.cells[w.cell] == w {
			delete(cw.cells, w.cell)
		}
		if detail := cw.table.put(w); detail != nil {
			cw.ledger.archived(detail)
		}
	}
	cw.settled = slices.Delete(cw.settled, 0, n)
}
