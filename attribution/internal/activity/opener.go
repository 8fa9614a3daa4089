package activity

import (
	"slices"

	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/model"
)

// Opener opens and closes windows at boundaries.
type Opener struct {
	*windows.State
	invariants *Invariants
	blocks     Blocks
}

// Open begins a window at a boundary: it holds every segment after the one that ends there.
func (ws *Opener) Open(p *windows.Process, b *event.Boundary, kind windows.WindowKind,
	parent *windows.Window) *windows.Window {
	w := &windows.Window{
		Detail: &windows.Detail{
			Since: ws.Session.Cut,
			Counts: windows.Counts{OpenStream: b.Stream, OpenCPU: b.CPUTime, OpenFrees: b.Frees,
				OpenCounters: windows.CountersOf(b)},
		},
		Stretch:   windows.Stretch{Root: b.Root, IsOpen: true, FirstSegment: b.Segment + 1, Opened: b.Time},
		CellFacts: windows.CellFacts{Count: -1}, Kind: kind, Parent: parent, Process: p, Status: model.OK,
	}
	ws.Table.Open(w)
	ws.blocks.Opened(w, int(b.Line)) // not the boundary, which may be reused
	if ws.blocks.Keeps(kind) {
		ws.Table.Keep(w)
	}
	r := ws.Processes.Tree(b.Root)
	w.DoubtOpened(r, b)
	w.Suspended.Away = len(r.Away) > 0
	p.HasWindows = true
	r.Open = append(r.Open, w)
	if kind == windows.KindBetween {
		p.LastBetween = w
	}
	if len(p.Windows) >= windows.MaxCounted && kind != windows.KindBetween {
		w.Uncounted = true
		return w
	}
	p.Windows, r.Counted = append(p.Windows, w), append(r.Counted, w)
	return w
}

// close ends a window with the segment that a boundary ends.
func (ws *Opener) close(w *windows.Window, b *event.Boundary) {
	if !w.IsOpen {
		return
	}
	ws.end(w, b)
	ws.blocks.Closed(w)
	ws.leave(w)
}

// end records the end of a window, with the segment that a boundary ends.
func (ws *Opener) end(w *windows.Window, b *event.Boundary) {
	r := ws.Processes.Tree(w.Root)
	w.Measured = ws.Table.Measure(w)
	w.Paused, w.PausedStacks = r.PausedIn(w), r.PausedStacksIn(w)
	w.Doubts, w.Until = ws.Table.DoubtsOf(w), ws.Session.Cut
	ws.Table.Count(w, 1)
	if w.Uncounted && w.Process.Counted >= w.Since {
		ws.Limits.Uncounted++
	}
	w.IsOpen = false
	if w.Birth != nil {
		w.Birth.Status = w.Status
	}
	w.LastSegment, w.CloseStream = b.Segment, b.Stream
	w.Closed, w.CloseCPU, w.CloseFrees, w.CloseCounters = b.Time, b.CPUTime, b.Frees, windows.CountersOf(b)
}

// leave removes a window from those that are open.
func (ws *Opener) leave(w *windows.Window) {
	ws.invariants.left(w)
	r := ws.Processes.Tree(w.Root)
	ws.Table.Close(w)
	r.Left = ws.Session.Cut
	if !w.Uncounted {
		w.Process.Windows = without(w.Process.Windows, w)
		r.Counted = without(r.Counted, w)
	}
	r.Closed++
	for n := len(r.Open); n > 0 && (r.Open[n-1] == w || !r.Open[n-1].IsOpen); n = len(r.Open) {
		r.Open[n-1] = nil
		r.Open = r.Open[:n-1]
		r.Closed--
	}
	if r.Closed > len(r.Open)/2 { // they are removed many at a time
		r.Open = slices.DeleteFunc(r.Open, func(w *windows.Window) bool { return !w.IsOpen })
		r.Closed = 0
	}
	if ws.Table.Closed.Add(w) {
		ws.Settle()
	}
}

// snapshot returns a copy of a window, ended with the segment that a boundary ends.
func (ws *Opener) snapshot(w *windows.Window, b *event.Boundary) *windows.Window {
	s, d := *w, *w.Detail
	s.Detail = &d
	if w.Doubts != nil {
		doubts := *w.Doubts
		s.Doubts = &doubts
	}
	s.Refused, s.RefusedBy = slices.Clone(w.Refused), slices.Clone(w.RefusedBy)
	ws.blocks.Copied(&s)
	ws.end(&s, b)
	ws.blocks.Closed(&s)
	ws.Table.Count(&s, -1)
	return &s
}

// drop removes a statement again.
func (ws *Opener) drop(w *windows.Window, b *event.Boundary) {
	w.Dropped = true
	ws.close(w, b)
}

func without(all []*windows.Window, w *windows.Window) []*windows.Window {
	if i := slices.Index(all, w); i >= 0 {
		return slices.Delete(all, i, i+1)
	}
	return all
}

// Settle settles the windows that closed long enough ago, and archives those that closed long ago. It is called before
// a boundary: there, the same events have been taken in from a live session and from its recording.
func (ws *Opener) Settle() {
	n := ws.Table.Closed.Due()
	for _, w := range ws.Table.Closed.Closing[:n] {
		w.IsSettled = true
		ws.blocks.Settle(w)
	}
	old := ws.Table.Closed.Move(n)
	for _, w := range old {
		r := ws.Processes.Tree(w.Root)
		r.Archived = max(r.Archived, w.LastSegment)
		ws.blocks.Shorten(w)
		if detail := ws.Table.Put(w); detail != nil {
			ws.blocks.Archived(detail)
		}
	}
	ws.Table.Closed.Drop(old)
}
