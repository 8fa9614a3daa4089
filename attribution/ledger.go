package attribution

import "ipytracer/event"

// ledger keeps the blocks of a session: of a [Tracker] who allocated, in each window; of an [Auditor] what stays
// behind. It follows what the events do to blocks, to processes and to windows.
type ledger interface {
	tallier
	follower

	// takes reports whether a change is for it.
	takes(c *event.Change) bool
	// move takes in such a change, in the order in which the kernel made them, once the windows of its segment are
	// open.
	move(r *root, c *event.Change)
	// heldBy takes in what the objects of a process have said.
	heldBy(e *event.Holders)
	// forget drops all blocks of some meters of a root: for a while nobody says what becomes of them.
	forget(root uint32, which func(event.Meter) bool)
	// blockAt and rangeAt return the stack that made a block, or mapped an address.
	blockAt(pid int32, m event.Meter, address uint64) (stack uint64, ok bool)
	rangeAt(pid int32, address uint64) (stack uint64, ok bool)
	// isWhole reports whether everything that came has found room.
	isWhole() bool

	// boundary looks at a boundary before it is applied.
	boundary(p *process, b *event.Boundary)
	// ended notes that a process has ended and its windows are closed.
	ended(pid int32)
	// keeps reports whether windows of a kind are kept for a report.
	keeps(kind windowKind) bool
}

// follower follows windows for what they make.
type follower interface {
	opened(w *window, line int) // at a line of a cell
	cellOver(pid int32, w *window)
	becameGap(w *window) // what followed a cell's result was the time between cells
}

// unfollowed is a follower that needs nothing.
type unfollowed struct{}

func (unfollowed) opened(*window, int)     {}
func (unfollowed) cellOver(int32, *window) {}
func (unfollowed) becameGap(*window)       {}

// tallier keeps what windows know of who allocated in them.
type tallier interface {
	closed(w *window)        // completes it, when a window closes
	copied(w *window)        // makes a copied window's its own
	forgo(w *window)         // lets it go
	settle(w *window)        // sums it up: nothing can change it any more
	shorten(w *window)       // leaves what a report lists
	archived(detail *detail) // takes its memory back
}

// untallied is a tallier that keeps nothing.
type untallied struct{}

func (untallied) closed(*window)   {}
func (untallied) copied(*window)   {}
func (untallied) forgo(*window)    {}
func (untallied) settle(*window)   {}
func (untallied) shorten(*window)  {}
func (untallied) archived(*detail) {}

// chart follows what meters do over time.
type chart interface {
	// tell takes in a change; pending is the boundary that waits for its readings, nil for none.
	tell(r *root, c *event.Change, pending *event.Boundary)
	// draw takes in a boundary that has been applied, and what waited for it.
	draw(r *root, b *event.Boundary, moved moves)
	// drawLearned notes what a meter has had all along.
	drawLearned(of *line, m event.Meter, value event.Bytes)
}

// noChart is a chart that keeps nothing.
type noChart struct{}

func (noChart) tell(*root, *event.Change, *event.Boundary)  {}
func (noChart) draw(*root, *event.Boundary, moves)          {}
func (noChart) drawLearned(*line, event.Meter, event.Bytes) {}
