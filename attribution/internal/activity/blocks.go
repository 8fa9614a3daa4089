package activity

import (
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
)

// Blocks keeps the blocks of a session: for a [Tracker] the stacks that allocated in each window, for an [Auditor] the
// blocks that stay behind. It follows the effects of events on blocks, processes and windows.
type Blocks interface {
	tallier
	blockFollower
	windows.Makers

	// Takes reports whether Move has to be called for a change.
	Takes(c *event.Change) bool
	// Move takes in a change. Changes come in the order of the kernel half, each after the windows of its segment have
	// been opened.
	Move(r *windows.Tree, c *event.Change)
	// HeldBy takes in the holders that the objects of a process reported.
	HeldBy(e *event.Holders)
	// Forget drops all blocks of some meters of a root, because their changes are not reported for a while.
	Forget(root uint32, which func(event.Meter) bool)
	// DividersAt returns the blocks that lay between the free memory of PyTorch's cache when it refused a request.
	DividersAt(e *event.Refusal) []windows.Divider

	// Boundary sees a boundary before it is applied.
	Boundary(p *windows.Process, b *event.Boundary)
	// Ended takes in the end of a process, after its windows were closed.
	Ended(pid int32)
	// Keeps reports whether windows of a kind are kept for a report.
	Keeps(kind windows.WindowKind) bool
}

// blockFollower follows windows, because it keeps the window in which each block was allocated.
type blockFollower interface {
	Opened(w *windows.Window, line int) // w opened at a line of its cell
	CellOver(pid int32, w *windows.Window)
	BecameBetween(w *windows.Window) // w, the time after a cell's result, became the time between cells
}

// Unfollowed is a follower that needs nothing.
type Unfollowed struct{}

func (Unfollowed) Opened(*windows.Window, int)     {}
func (Unfollowed) CellOver(int32, *windows.Window) {}
func (Unfollowed) BecameBetween(*windows.Window)   {}

// tallier keeps the tallies of windows: the stacks that allocated in them.
type tallier interface {
	Closed(w *windows.Window)        // completes the tallies, when a window closes
	Copied(w *windows.Window)        // gives a copied window tallies of its own
	Forgo(w *windows.Window)         // drops the tallies
	Settle(w *windows.Window)        // sums the tallies up: nothing can change them any more
	Shorten(w *windows.Window)       // leaves the tallies that a report lists
	Archived(detail *windows.Detail) // takes the tallies' memory back
}

// Untallied is a tallier that keeps nothing.
type Untallied struct{}

func (Untallied) Closed(*windows.Window)   {}
func (Untallied) Copied(*windows.Window)   {}
func (Untallied) Forgo(*windows.Window)    {}
func (Untallied) Settle(*windows.Window)   {}
func (Untallied) Shorten(*windows.Window)  {}
func (Untallied) Archived(*windows.Detail) {}
