package attribution

import "ipytracer/attribution/internal/stacks"

// GiveUp drops the attribution of the whole session, and takes in no more of it. Texts of cells that come from now on
// are kept up to 1 KiB. Figures, windows and their proof go on as before. why is a sentence for readers of
// [Tracker.Glance] meanwhile; the session's end reports it again.
func GiveUp(t *Tracker, why string) {
	if t.allocations.givenUp != "" {
		return
	}
	t.stacks.Close()
	t.queue.close()
	t.allocations.giveUp(why)
	t.glancer.mark(false)
	t.namespaces.forget()
	t.files.forget()
	t.symbolizer.forget()
	t.table.giveUp()
	t.limits.brief = true
	forgetTallies(t.table.closed.all())
	forgetTallies(t.table.staying)
	for _, p := range t.processes.order {
		forgetTallies(p.windows)
		forgetTallies(p.open)
		forgetTallies([]*window{p.session, p.whole, p.lastGap})
	}
}

// giveUp drops the records of blocks and stacks.
func (a *allocations) giveUp(why string) {
	*a.divided = stacks.Merger{Stacks: a.stacks}
	*a.finds = finds{state: a.state}
	*a = allocations{
		state: a.state, divided: a.divided, finds: a.finds,
		blocks: map[stacks.BlockKey]stacks.Block{}, ranges: map[int32]*stacks.Ranges[uint64]{},
		Holdings: stacks.NewHoldings(a.stacks), givenUp: why,
	}
}

// forget drops the listed names.
func (ns *namespaces) forget() { ns.early, ns.listed = nil, nil }

// forget drops the stacks that it remembers.
func (sy *symbolizer) forget() { sy.shown = shown{} }

// forgetTallies removes the tallies of windows.
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
