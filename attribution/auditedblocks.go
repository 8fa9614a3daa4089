package attribution

import (
	"sync/atomic"

	"ipytracer/attribution/internal/activity"
	"ipytracer/attribution/internal/audit"
	"ipytracer/attribution/internal/blocks"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
)

// auditedBlocks is the keeper of blocks of a [Tracker] with an audit. It passes everything on to two keepers: Blocks,
// for the stacks that allocated in each window, and the audit, for the blocks that stay behind. Blocks answers
// questions.
type auditedBlocks struct {
	*blocks.Blocks
	audit atomic.Pointer[audit.Audit] // nil after [Tracker.EndAudit]
}

var _ activity.Blocks = (*auditedBlocks)(nil)

// Takes reports whether one of the two keepers uses a change.
func (l *auditedBlocks) Takes(c *event.Change) bool {
	a := l.audit.Load()
	return l.Blocks.Takes(c) || a != nil && a.Takes(c)
}

// Move passes a change on to the keepers that use it.
func (l *auditedBlocks) Move(tree *windows.Tree, change *event.Change) {
	if l.Blocks.Takes(change) {
		l.Blocks.Move(tree, change)
	}
	if a := l.audit.Load(); a != nil && a.Takes(change) {
		a.Move(tree, change)
	}
}

// HeldBy takes in the holders that the objects of a process reported.
func (l *auditedBlocks) HeldBy(e *event.Holders) {
	l.Blocks.HeldBy(e)
	if a := l.audit.Load(); a != nil {
		a.HeldBy(e)
	}
}

// Forget drops all blocks of some meters of a root.
func (l *auditedBlocks) Forget(root uint32, which func(event.Meter) bool) {
	l.Blocks.Forget(root, which)
	if a := l.audit.Load(); a != nil {
		a.Forget(root, which)
	}
}

// Boundary sees a boundary before it is applied.
func (l *auditedBlocks) Boundary(process *windows.Process, boundary *event.Boundary) {
	l.Blocks.Boundary(process, boundary)
	if a := l.audit.Load(); a != nil {
		a.Boundary(process, boundary)
	}
}

// Opened gives a window its birth.
func (l *auditedBlocks) Opened(w *windows.Window, line int) {
	if a := l.audit.Load(); a != nil {
		a.Opened(w, line)
	}
}

// CellOver records a cell that ended with an exception.
func (l *auditedBlocks) CellOver(pid int32, w *windows.Window) {
	if a := l.audit.Load(); a != nil {
		a.CellOver(pid, w)
	}
}

// BecameBetween turns a window that was opened as a statement into the time between cells.
func (l *auditedBlocks) BecameBetween(w *windows.Window) {
	if a := l.audit.Load(); a != nil {
		a.BecameBetween(w)
	}
}
