package attribution

// GiveUp lets go what is known of who allocated, in the whole session, and takes in no more of that; texts of cells that come from now on are kept up to 1 KiB. Figures,
// windows and their proof go on as before. why is a sentence for those who ask meanwhile ([Tracker.Glance]); the session's end says it again.
func GiveUp(t *Tracker, why string) {
	if t.allocations.givenUp != "" {
		return
	}
	t.allocations = newAllocations()
	t.allocations.givenUp = why
	t.marked, t.ran, t.shown, t.divided, t.early, t.listed = nil, nil, shown{}, divided{}, nil, nil
	t.decoded, t.limits.brief = nil, true
	for _, all := range [][]*window{t.closing, t.settled, t.staying, t.over} {
		forgetTallies(all)
	}
	for _, p := range t.order {
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
