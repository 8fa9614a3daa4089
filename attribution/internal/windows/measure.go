package windows

import (
	"cmp"
	"math"
	"slices"

	"ipytracer/attribution/internal/course"
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
	r.eachOther(w, func(p *Process, atStart bool) {
		if p.isCopyIn(w) {
			m.share(p.sharedIn(w))
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
	m.keepLargest(MaxListing)
	slices.SortFunc(m.Children, func(a, b child) int { return cmp.Compare(a.Process.Index, b.Process.Index) })
	r.lower(&m, w)
	return m
}

// share adds memory that a forked child shares with its parent.
func (m *Measured) share(copied course.Levels) {
	m.Sharing = true
	for _, l := range copied {
		if l.Bytes > 0 {
			m.Shared.Need(l.Meter).Bytes += l.Bytes
		}
	}
}

// keepLargest keeps at most limit children, those with the highest peaks of resident memory.
func (m *Measured) keepLargest(limit int) {
	if len(m.Children) <= limit {
		return
	}
	slices.SortFunc(m.Children, func(a, b child) int {
		return cmp.Or(cmp.Compare(b.Figures.Of(event.Resident).Peak, a.Figures.Of(event.Resident).Peak),
			cmp.Compare(a.Process.Index, b.Process.Index))
	})
	m.Unlisted += len(m.Children) - limit
	m.Children = slices.Clone(m.Children[:limit])
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

// CountChildren adds the number of other processes that a window lists to the counts of all windows: by is 1 to add, -1
// to subtract.
func (wt *Table) CountChildren(w *Window, by int) {
	wt.children += by * len(w.Children)
	wt.processes.limits.Children += by * w.Measured.Unlisted
}

// SwappedAt returns the memory of a boundary's process in swap, within bounds whatever a recording says; below 0 if it
// is not known.
func SwappedAt(b *event.Boundary) event.Bytes {
	if b.Kind == event.ProcessExit {
		return -1
	}
	return min(max(b.Swapped, 0), math.MaxInt64/4)
}

// Swapped returns what was in swap when a window opened and closed; nil for nothing, or if it is not known.
func (d *Detail) Swapped() *model.Swapped {
	if min(d.OpenSwapped, d.CloseSwapped) < 0 || max(d.OpenSwapped, d.CloseSwapped) == 0 {
		return nil
	}
	return &model.Swapped{Start: int64(d.OpenSwapped), End: int64(d.CloseSwapped)}
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
	between := func(c event.Counter) int64 { return d.CloseCounters.Since(d.OpenCounters, c) }
	return &model.Counters{
		MinorFaults: between(event.MinorFaults), MajorFaults: between(event.MajorFaults), Waits: between(event.Waits),
		Preemptions:  between(event.Preemptions),
		Instructions: between(event.Instructions), Cycles: between(event.Cycles),
		CacheReferences: between(event.CacheReferences), CacheMisses: between(event.CacheMisses),
	}
}
