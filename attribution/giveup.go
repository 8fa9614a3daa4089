package attribution

// GiveUp lets go what is known of who allocated, in the whole session, and takes in no more of that; texts of cells
// that come from now on are kept up to 1 KiB. Figures, windows and their proof go on as before. why is a sentence for
// those who ask meanwhile ([Tracker.Glance]); the session's end says it again.
func GiveUp(t *Tracker, why string) {
	if t.allocations.givenUp != "" {
		return
	}
	t.stacks.close()
	t.queue.close()
	t.allocations.giveUp(why)
	t.glancer.mark(false)
	t.namespaces.forget()
	t.files.forget()
	t.symbolizer.forget()
	t.table.giveUp()
	t.limits.brief = true
	forgetTallies(t.closed.all())
	forgetTallies(t.table.staying)
	for _, p := range t.processes.order {
		forgetTallies(p.windows)
		forgetTallies(p.open)
		forgetTallies([]*window{p.session, p.whole, p.lastGap})
	}
}

// giveUp lets go what is known.
func (a *allocations) giveUp(why string) {
	*a.divided = divided{stacks: a.stacks}
	*a.finds = finds{processes: a.finds.processes, stacks: a.stacks}
	*a = allocations{
		session: a.session, gpus: a.gpus, processes: a.processes, over: a.over, divided: a.divided, finds: a.finds,
		stacks: a.stacks, blocks: map[blockKey]block{}, ranges: map[int32]*ranges{}, holdings: newHoldings(a.stacks),
		givenUp: why,
	}
}

// forget lets go of what was listed.
func (ns *namespaces) forget() { ns.early, ns.listed = nil, nil }

// forget lets go of the stacks that it remembers.
func (sy *symbolizer) forget() { sy.shown = shown{} }

// forget lets go of what names stand for, by their numbers.
func (cf *cellFiles) forget() { cf.ran = nil }

// giveUp has windows that are read from the archive no tallies any more.
func (wt *windowTable) giveUp() { wt.decoded, wt.noTallies = nil, true }

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
