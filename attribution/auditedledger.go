package attribution

import (
	"sync/atomic"

	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
)

// auditedLedger is the ledger of a [Tracker] with an audit: the stacks that allocated in each window, and the blocks
// that stay behind. The allocations answer for both.
type auditedLedger struct {
	*allocations
	audit atomic.Pointer[audit] // nil once it was dropped
}

var _ ledger = (*auditedLedger)(nil)

// takes reports whether one of the two uses a change.
func (l *auditedLedger) takes(c *event.Change) bool {
	a := l.audit.Load()
	return l.allocations.takes(c) || a != nil && a.takes(c)
}

// move takes in such a change.
func (l *auditedLedger) move(r *windows.Tree, c *event.Change) {
	if l.allocations.takes(c) {
		l.allocations.move(r, c)
	}
	if a := l.audit.Load(); a != nil && a.takes(c) {
		a.move(r, c)
	}
}

// heldBy takes in the holders that the objects of a process reported.
func (l *auditedLedger) heldBy(e *event.Holders) {
	l.allocations.heldBy(e)
	if a := l.audit.Load(); a != nil {
		a.heldBy(e)
	}
}

// forget drops all blocks of some meters of a root.
func (l *auditedLedger) forget(root uint32, which func(event.Meter) bool) {
	l.allocations.forget(root, which)
	if a := l.audit.Load(); a != nil {
		a.forget(root, which)
	}
}

// boundary sees a boundary before it is applied.
func (l *auditedLedger) boundary(p *windows.Process, b *event.Boundary) {
	l.allocations.boundary(p, b)
	if a := l.audit.Load(); a != nil {
		a.boundary(p, b)
	}
}

// opened gives a window its birth.
func (l *auditedLedger) opened(w *windows.Window, line int) {
	if a := l.audit.Load(); a != nil {
		a.opened(w, line)
	}
}

// cellOver records a cell that ended with an exception.
func (l *auditedLedger) cellOver(pid int32, w *windows.Window) {
	if a := l.audit.Load(); a != nil {
		a.cellOver(pid, w)
	}
}

// becameBetween makes a statement that was none the time between cells.
func (l *auditedLedger) becameBetween(w *windows.Window) {
	if a := l.audit.Load(); a != nil {
		a.becameBetween(w)
	}
}
