package windows

import (
	"slices"
)

const (
	// maxPatient is the most windows that may wait for changes that may be lost.
	maxPatient = 1 << 12
	// MaxUnsettled is the most windows that may close at one boundary before they are settled.
	MaxUnsettled = 256
)

// Closed are the windows that closed a short while ago: late changes may still belong to them.
type Closed struct {
	processes *Processes
	Closing   []*Window          // closed, but not settled
	settled   []*Window          // settled, but not archived
	over      []*Window          // closed sessions and lives
	cells     map[uint64]*Window // the cells in Closing and settled
}

// Add takes in a window that has closed. isFull: many closed at once, and have to be settled.
func (cw *Closed) Add(w *Window) (isFull bool) {
	if w.Kind == KindSession || w.Kind == KindLife { // their tallies are the report's lines
		cw.over = append(cw.over, w)
		return false
	}
	cw.Closing = append(cw.Closing, w)
	return len(cw.Closing) > MaxUnsettled
}

// All returns the windows of all processes.
func (cw *Closed) All() []*Window { return slices.Concat(cw.Closing, cw.settled, cw.over) }

// Remember records that a cell is over.
func (cw *Closed) Remember(cell *Window) { cw.cells[cell.Cell] = cell }

// Cell returns a cell that is over; nil if that is long ago.
func (cw *Closed) Cell(id uint64) *Window { return cw.cells[id] }

// Holding returns the closed windows of a process that contain a segment and can still take in a change of it.
func (cw *Closed) Holding(pid int32, root uint32, segment uint64) (found []*Window) {
	p := cw.processes.ByPID[pid]
	if p == nil {
		return nil
	}
	for _, w := range cw.NotArchived(p) {
		if w.Process == p && w.Holds(root, segment) {
			found = append(found, w)
		}
	}
	for _, w := range p.Open {
		if s := w.AtResult; s != nil && s.Holds(root, segment) {
			found = append(found, s)
		}
	}
	return found
}

// NotArchived returns the closed windows that are not archived; of sessions and lives only those of one process.
func (cw *Closed) NotArchived(process *Process) []*Window {
	all := slices.Concat(cw.Closing, cw.settled)
	for _, w := range []*Window{process.Session, process.Lifetime} {
		if w != nil && !w.IsOpen {
			all = append(all, w)
		}
	}
	return all
}

// Due returns the number of windows that closed long enough ago to be settled.
func (cw *Closed) Due() (n int) {
	for _, w := range cw.Closing[:max(0, len(cw.Closing)-Lingering)] {
		if r := cw.processes.Tree(w.Root); r.Ordered.WaitsFor(w.CloseStream) && len(cw.Closing) < maxPatient {
			break
		}
		n++
	}
	return n
}

// Move moves the first n closed windows to the settled ones, and returns the windows that are old enough to be
// archived.
func (cw *Closed) Move(n int) (old []*Window) {
	cw.settled = append(cw.settled, cw.Closing[:n]...)
	cw.Closing = slices.Delete(cw.Closing, 0, n)
	return cw.settled[:max(0, len(cw.settled)-Horizon)]
}

// Drop removes the oldest windows, which have been archived.
func (cw *Closed) Drop(old []*Window) {
	for _, w := range old {
		if cw.cells[w.Cell] == w {
			delete(cw.cells, w.Cell)
		}
	}
	cw.settled = slices.Delete(cw.settled, 0, len(old))
}
