package attribution

// A window that closed a while ago, so that no late change can be one of its own, is kept as bytes: of a statement, an
// experiment and the time between cells all of it; of a cell, to which others refer, its detail. A session has hundreds
// of thousands of them.

// slot is where a window is: itself, or in the archive.
type slot struct {
	w    *window
	at   uint64
	id   int32
	kind windowKind
}
