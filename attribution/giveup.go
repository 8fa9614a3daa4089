package attribution

// GiveUp lets go what is known of who allocated, in the whole session, and takes in no more of that; texts of cells
// that come from now on are kept up to 1 KiB. Figures, windows and their proof go on as before. why is a sentence for
// those who ask meanwhile ([Tracker.Glance]); the session's end says it again.
func GiveUp(t *Tracker, why string) {
	if t.allocations.givenUp != "" {
		return
	}
	*t.stacks = *newStackTable()
	*t.allocations = *newAllocations(t.stacks)
	t.allocations.givenUp = why
	t.marked, t.early, t.listed = nil, nil, nil
	t.files.ran, t.symbolizer.shown, *t.divided = nil, shown{}, divided{stacks: t.stacks}
	t.table.decoded, t.table.noTallies, t.limits.brief = nil, true, true
	for _, all := range [][]*window{t.closing, t.settled, t.table.staying, t.over} {
		forgetTallies(all)
	}
	for _, p := range t.processes.order {
		forgetTallies(p.windows)
		forgetTallies(p.open)
		forgetTallies([]*window{p.session, p.whole, p.lastGap})
	}
}

// forgetTallies takes from windows what they know of who allocated.
func forgetTallies(all []*window) {
	for _, w := range all {
		if w == nil {
			continue
		}
		if w.detail != nil {
			w.tallies = nil
		}
		if s := w.atResult; s != nil && s.detail != nil {
			s.tallies = nil
		}
	}
}

// maxBrief is how long a text is that is kept once memory is scarce, in bytes.
const maxBrief = 1 << 10
