package attribution

// A window that closed a while ago, so that no late change can belong to it, is kept as bytes: of a statement, an
// experiment and the time between cells all of it; of a cell, to which other windows refer, only its detail. A session
// has hundreds of thousands of them.

// slot is the place of a window: the window itself, or its place in the archive.
type slot struct {
	w    *window
	at   uint64
	id   int32
	kind windowKind
}
