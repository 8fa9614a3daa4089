package attribution

// windowTable has all windows of a session in the order they began: each itself, or where it is in the archive.
type windowTable struct {
	session   *session
	processes *processes
	limits    *limits
	stacks    *stackTable
	inTheEnd  *inTheEnd
	archive   *archive

	slots                   []slot
	staying                 []*window // those that others may refer to
	statements, experiments int       // made so far
	dropped                 int       // not kept
	nextID                  int
	counted                 bool   // a window has counters
	children                int    // that windows list, of all that are over
	closings                uint64 // how many windows closed
	noTallies               bool   // nothing of who allocated is kept any more, see [GiveUp]

	coded   []byte  // memory for what is to be put into the archive
	reached int     // the window that was made last, of all
	decoded *window // the last that was made of the archive
	space   space
}

func newWindowTable(s *session, p *processes, stacks *stackTable, a *archive) *windowTable {
	return &windowTable{session: s, processes: p, limits: p.limits, stacks: stacks, inTheEnd: &inTheEnd{processes: p},
		archive: a, nextID: 1}
}
