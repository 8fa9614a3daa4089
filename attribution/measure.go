package attribution

import (
	"cmp"
	"slices"

	"ipytracer/event"
)

// measure returns the figures of an open window, up to now.
func (wt *windowTable) measure(w *window) measured {
	r := wt.processes.root(w.root)
	m := measured{own: w.process.past.Figures(w.since, true), tree: r.past.Figures(w.since, true)}
	m.recomputed = w.process.past.Recomputed(w.since, m.own)
	for kind := range m.unsure {
		m.unsure[kind], _ = r.unsure[kind].Since(w.since - 1)
	}
	m.crowded = r.crowded.in(w.since)
	room := maxChildren - wt.children
	r.others(w, func(p *process, atStart bool) {
		if p.isCopyIn(w) {
			m.sharing = true
			for _, l := range p.copied {
				if l.Bytes > 0 {
					m.shared.Need(l.Meter).Bytes += l.Bytes
				}
			}
		}
		switch {
		case !wt.processes.isBelow(p, w.process):
		case p.adopted && !atStart: // its values at the beginning of the window are not known
			m.unlisted++
		case len(m.children) < room:
			m.children = append(m.children, child{p, p.figuresIn(w, atStart)})
		default:
			m.unlisted++
		}
	})
	if n := len(m.children); n > maxListing {
		slices.SortFunc(m.children, func(a, b child) int {
			return cmp.Or(cmp.Compare(b.figures.Of(event.Resident).Peak, a.figures.Of(event.Resident).Peak),
				cmp.Compare(a.process.index, b.process.index))
		})
		m.unlisted += n - maxListing
		m.children = slices.Clone(m.children[:maxListing])
	}
	slices.SortFunc(m.children, func(a, b child) int { return cmp.Compare(a.process.index, b.process.index) })
	r.lower(&m, w)
	return m
}

// doubtsOf returns the doubts of an open window, up to now; nil for none.
func (wt *windowTable) doubtsOf(w *window) *doubts {
	r := wt.processes.root(w.root)
	var d doubts
	if w.doubts != nil {
		d = *w.doubts
	}
	d.partly = d.partly || r.partly > w.since
	for kind := range d.missing {
		most, _ := r.missing[kind].Since(w.since)
		d.missing[kind] = max(d.missing[kind], most)
	}
	d.statements += r.doubts.Refused[event.RefusedStatements] - w.openStatements
	d.markers += r.doubts.Refused[event.RefusedMarkers] - w.openMarkers
	if d == (doubts{}) {
		return nil
	}
	out := new(doubts)
	*out = d
	return out
}

// count adds (by 1) or subtracts (by -1) the other processes that a window lists.
func (wt *windowTable) count(w *window, by int) {
	wt.children += by * len(w.children)
	wt.processes.limits.Children += by * w.measured.unlisted
}
