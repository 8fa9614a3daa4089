package attribution

import (
	"slices"

	"ipytracer/event"
	"ipytracer/model"
)

// opener opens and closes windows at boundaries.
type opener struct {
	*state
	invariants *invariants
	ledger     ledger
}

// open begins a window at a boundary: it holds every segment after the one that ends there.
func (ws *opener) open(p *process, b *event.Boundary, kind windowKind, parent *window) *window {
	w := &window{
		detail: &detail{
			since:  ws.session.cut,
			counts: counts{openStream: b.Stream, openCPU: b.CPUTime, openFrees: b.Frees, openCounters: countersOf(b)},
		},
		stretch:   stretch{root: b.Root, isOpen: true, firstSegment: b.Segment + 1, opened: b.Time},
		cellFacts: cellFacts{count: -1}, kind: kind, parent: parent, process: p, status: model.OK,
	}
	ws.table.open(w)
	ws.ledger.opened(w, int(b.Line)) // not the boundary, which may be reused
	if ws.ledger.keeps(kind) {
		ws.table.keep(w)
	}
	r := ws.processes.root(b.Root)
	w.doubtOpened(r, b)
	w.suspended.Away = len(r.away) > 0
	p.hasWindows = true
	r.open = append(r.open, w)
	if kind == kindBetween {
		p.lastGap = w
	}
	if len(p.windows) >= maxCounted && kind != kindBetween {
		w.uncounted = true
		return w
	}
	p.windows, r.counted = append(p.windows, w), append(r.counted, w)
	return w
}

// close ends a window with the segment that a boundary ends.
func (ws *opener) close(w *window, b *event.Boundary) {
	if !w.isOpen {
		return
	}
	ws.end(w, b)
	ws.ledger.closed(w)
	ws.leave(w)
}

// end records the end of a window, with the segment that a boundary ends.
func (ws *opener) end(w *window, b *event.Boundary) {
	r := ws.processes.root(w.root)
	w.measured = ws.table.measure(w)
	w.shed, w.unwalked = r.shedIn(w), r.unwalkedIn(w)
	w.doubts, w.until = ws.table.doubtsOf(w), ws.session.cut
	ws.table.count(w, 1)
	if w.uncounted && w.process.counted >= w.since {
		ws.limits.Uncounted++
	}
	w.isOpen = false
	if w.birth != nil {
		w.birth.status = w.status
	}
	w.lastSegment, w.closeStream = b.Segment, b.Stream
	w.closed, w.closeCPU, w.closeFrees, w.closeCounters = b.Time, b.CPUTime, b.Frees, countersOf(b)
}

// leave removes a window from those that are open.
func (ws *opener) leave(w *window) {
	ws.invariants.left(w)
	r := ws.processes.root(w.root)
	ws.table.close(w)
	r.left = ws.session.cut
	if !w.uncounted {
		w.process.windows = without(w.process.windows, w)
		r.counted = without(r.counted, w)
	}
	r.closed++
	for n := len(r.open); n > 0 && (r.open[n-1] == w || !r.open[n-1].isOpen); n = len(r.open) {
		r.open[n-1] = nil
		r.open = r.open[:n-1]
		r.closed--
	}
	if r.closed > len(r.open)/2 { // they are removed many at a time
		r.open = slices.DeleteFunc(r.open, func(w *window) bool { return !w.isOpen })
		r.closed = 0
	}
	if ws.table.closed.add(w) {
		ws.settle()
	}
}

// snapshot returns a copy of a window, ended with the segment that a boundary ends.
func (ws *opener) snapshot(w *window, b *event.Boundary) *window {
	s, d := *w, *w.detail
	s.detail = &d
	if w.doubts != nil {
		doubts := *w.doubts
		s.doubts = &doubts
	}
	s.refused, s.refusedBy = slices.Clone(w.refused), slices.Clone(w.refusedBy)
	ws.ledger.copied(&s)
	ws.end(&s, b)
	ws.ledger.closed(&s)
	ws.table.count(&s, -1)
	return &s
}

// drop removes a statement again.
func (ws *opener) drop(w *window, b *event.Boundary) {
	w.dropped = true
	ws.close(w, b)
}

func without(all []*window, w *window) []*window {
	if i := slices.Index(all, w); i >= 0 {
		return slices.Delete(all, i, i+1)
	}
	return all
}

// settle settles the windows that closed long enough ago, and archives those that closed long ago. It is called before a
// boundary: there, the same events have been taken in from a live session and from its recording.
func (ws *opener) settle() {
	n := ws.table.closed.due()
	for _, w := range ws.table.closed.closing[:n] {
		w.isSettled = true
		ws.ledger.settle(w)
	}
	old := ws.table.closed.move(n)
	for _, w := range old {
		r := ws.processes.root(w.root)
		r.archived = max(r.archived, w.lastSegment)
		ws.ledger.shorten(w)
		if detail := ws.table.put(w); detail != nil {
			ws.ledger.archived(detail)
		}
	}
	ws.table.closed.drop(old)
}
