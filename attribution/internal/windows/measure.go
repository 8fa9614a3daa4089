package windows

import (
	"cmp"
	"slices"

	"ipytracer/event"
	"ipytracer/model"
)

// Measure returns the figures of an open window, up to now.
func (wt *Table) Measure(w *Window) Measured {
	r := wt.processes.Tree(w.Root)
	m := Measured{Own: w.Process.Gauges.Figures(w.Since, true), Tree: r.Gauges.Figures(w.Since, true)}
	m.Recomputed = w.Process.Gauges.Recomputed(w.Since, m.Own)
	for kind := range m.unsure {
		m.unsure[kind], _ = r.Unsure[kind].Since(w.Since - 1)
	}
	m.Crowded = r.Crowded.in(w.Since)
	room := wt.processes.limits.MostChildren - wt.children
	r.others(w, func(p *Process, atStart bool) {
		if p.isCopyIn(w) {
			m.Sharing = true
			for _, l := range p.Copied {
				if l.Bytes > 0 {
					m.Shared.Need(l.Meter).Bytes += l.Bytes
				}
			}
		}
		switch {
		case !wt.processes.IsBelow(p, w.Process):
		case p.Adopted && !atStart: // its values at the beginning of the window are not known
			m.Unlisted++
		case len(m.Children) < room:
			m.Children = append(m.Children, child{p, p.figuresIn(w, atStart)})
		default:
			m.Unlisted++
		}
	})
	if n := len(m.Children); n > MaxListing {
		slices.SortFunc(m.Children, func(a, b child) int {
			return cmp.Or(cmp.Compare(b.Figures.Of(event.Resident).Peak, a.Figures.Of(event.Resident).Peak),
				cmp.Compare(a.Process.Index, b.Process.Index))
		})
		m.Unlisted += n - MaxListing
		m.Children = slices.Clone(m.Children[:MaxListing])
	}
	slices.SortFunc(m.Children, func(a, b child) int { return cmp.Compare(a.Process.Index, b.Process.Index) })
	r.lower(&m, w)
	return m
}

// DoubtsOf returns the doubts of an open window, up to now; nil for none.
func (wt *Table) DoubtsOf(w *Window) *doubts {
	r := wt.processes.Tree(w.Root)
	var d doubts
	if w.Doubts != nil {
		d = *w.Doubts
	}
	d.partly = d.partly || r.Partly > w.Since
	for kind := range d.missing {
		most, _ := r.Missing[kind].Since(w.Since)
		d.missing[kind] = max(d.missing[kind], most)
	}
	d.statements += r.Doubts.Refused[event.RefusedStatements] - w.openStatements
	d.markers += r.Doubts.Refused[event.RefusedMarkers] - w.openMarkers
	if d == (doubts{}) {
		return nil
	}
	out := new(doubts)
	*out = d
	return out
}

// Count adds (by 1) or subtracts (by -1) the other processes that a window lists.
func (wt *Table) Count(w *Window, by int) {
	wt.children += by * len(w.Children)
	wt.processes.limits.Children += by * w.Measured.Unlisted
}

// CountersOf returns a copy of a boundary's counters, nil if it has none.
func CountersOf(b *event.Boundary) *event.Counters {
	if b.Counters == (event.Counters{}) {
		return nil
	}
	kept := b.Counters
	return &kept
}

// Counters returns the counts of a window, nil if there are none.
func (d *Detail) Counters() *model.Counters {
	if d.OpenCounters == nil || d.CloseCounters == nil {
		return nil
	}
	of := func(c event.Counter) int64 { return d.CloseCounters.Since(d.OpenCounters, c) }
	return &model.Counters{
		MinorFaults: of(event.MinorFaults), MajorFaults: of(event.MajorFaults), Waits: of(event.Waits),
		Preemptions:  of(event.Preemptions),
		Instructions: of(event.Instructions), Cycles: of(event.Cycles), CacheReferences: of(event.CacheReferences),
		CacheMisses: of(event.CacheMisses),
	}
}
