package attribution

import (
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
)

// ledger keeps the blocks of a session: for a [Tracker] the stacks that allocated in each window, for an [Auditor] the
// blocks that stay behind. It follows the effects of events on blocks, processes and windows.
type ledger interface {
	tallier
	follower
	windows.Makers

	// takes reports whether the ledger uses a change.
	takes(c *event.Change) bool
	// move takes in such a change, in the kernel's order, after the windows of its segment have been opened.
	move(r *windows.Tree, c *event.Change)
	// heldBy takes in the holders that the objects of a process reported.
	heldBy(e *event.Holders)
	// forget drops all blocks of some meters of a root: for a while their changes are not reported.
	forget(root uint32, which func(event.Meter) bool)
	// dividersAt returns the blocks that kept the free memory of PyTorch's cache apart, at a request that it refused.
	dividersAt(e *event.Refusal) []windows.Divider

	// boundary sees a boundary before it is applied.
	boundary(p *windows.Process, b *event.Boundary)
	// ended takes in the end of a process, after its windows were closed.
	ended(pid int32)
	// keeps reports whether windows of a kind are kept for a report.
	keeps(kind windows.WindowKind) bool
}

// follower follows windows, for the blocks that they allocate.
type follower interface {
	opened(w *windows.Window, line int) // at a line of a cell
	cellOver(pid int32, w *windows.Window)
	becameBetween(w *windows.Window) // the time after a cell's result became the time between cells
}

// unfollowed is a follower that needs nothing.
type unfollowed struct{}

func (unfollowed) opened(*windows.Window, int)     {}
func (unfollowed) cellOver(int32, *windows.Window) {}
func (unfollowed) becameBetween(*windows.Window)       {}

// tallier keeps the tallies of windows: the stacks that allocated in them.
type tallier interface {
	closed(w *windows.Window)        // completes the tallies, when a window closes
	copied(w *windows.Window)        // gives a copied window tallies of its own
	forgo(w *windows.Window)         // drops the tallies
	settle(w *windows.Window)        // sums the tallies up: nothing can change them any more
	shorten(w *windows.Window)       // leaves the tallies that a report lists
	archived(detail *windows.Detail) // takes the tallies' memory back
}

// untallied is a tallier that keeps nothing.
type untallied struct{}

func (untallied) closed(*windows.Window)   {}
func (untallied) copied(*windows.Window)   {}
func (untallied) forgo(*windows.Window)    {}
func (untallied) settle(*windows.Window)   {}
func (untallied) shorten(*windows.Window)  {}
func (untallied) archived(*windows.Detail) {}
