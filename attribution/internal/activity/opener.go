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

// Open begins a window at a boundary. Its first segment is the one after the boundary.
func (ws *Opener) Open(process *windows.Process, boundary *event.Boundary, kind windows.WindowKind,
	parent *windows.Window) *windows.Window {
	window := &windows.Window{
		Detail: &windows.Detail{
			Since: ws.Session.Cut,
			Counts: windows.Counts{OpenStream: boundary.Stream, OpenCPU: boundary.CPUTime, OpenFrees: boundary.Frees,
				OpenCounters: windows.CountersOf(boundary), OpenSwapped: windows.SwappedAt(boundary)},
		},
		Stretch: windows.Stretch{Root: boundary.Root, IsOpen: true, FirstSegment: boundary.Segment + 1,
			Opened: boundary.Time},
		CellFacts: windows.CellFacts{Count: -1}, Kind: kind, Parent: parent, Process: process, Status: model.OK,
	}
	ws.Table.Open(window)
	ws.blocks.Opened(window, int(boundary.Line)) // not the boundary, which may be reused
	if ws.blocks.Keeps(kind) {
		ws.Table.Keep(window)
	}
	tree := ws.Processes.Tree(boundary.Root)
	window.SetOpeningDoubts(tree, boundary)
	window.OpenIn(boundary)
	window.Suspended.Away = len(tree.Away) > 0
	process.HasWindows = true
	tree.Open = append(tree.Open, window)
	if kind == windows.KindBetween {
		process.LastBetween = window
	}
	if len(process.Windows) >= windows.MaxCounted && kind != windows.KindBetween {
		window.Uncounted = true
		return window
	}
	process.Windows, tree.Counted = append(process.Windows, window), append(tree.Counted, window)
	return window
}

// close ends a window with the segment that a boundary ends.
func (ws *Opener) close(window *windows.Window, boundary *event.Boundary) {
	if !window.IsOpen {
		return
	}
	ws.end(window, boundary)
	ws.blocks.Closed(window)
	ws.removeOpen(window)
}

// end records the end of a window, with the segment that a boundary ends.
func (ws *Opener) end(window *windows.Window, boundary *event.Boundary) {
	tree := ws.Processes.Tree(window.Root)
	window.Measured = ws.Table.Measure(window)
	window.Paused, window.PausedStacks = tree.PausedIn(window), tree.PausedStacksIn(window)
	window.Doubts, window.Until = ws.Table.DoubtsOf(window), ws.Session.Cut
	window.Container = window.Process.ContainerIn(window, boundary)
	ws.Table.CountChildren(window, 1)
	if window.Uncounted && window.Process.Counted >= window.Since {
		ws.Limits.Uncounted++
	}
	window.IsOpen = false
	if window.Birth != nil {
		window.Birth.Status = window.Status
	}
	window.Closed, window.LastSegment, window.CloseStream = boundary.Time, boundary.Segment, boundary.Stream
	window.CloseCPU, window.CloseFrees, window.CloseCounters = boundary.CPUTime, boundary.Frees,
		windows.CountersOf(boundary)
	window.CloseSwapped = windows.SwappedAt(boundary)
}

// removeOpen removes a window from those that are open.
func (ws *Opener) removeOpen(window *windows.Window) {
	ws.invariants.check(window)
	tree := ws.Processes.Tree(window.Root)
	ws.Table.Close(window)
	tree.Left = ws.Session.Cut
	if !window.Uncounted {
		window.Process.Windows = without(window.Process.Windows, window)
		tree.Counted = without(tree.Counted, window)
	}
	tree.Closed++
	for n := len(tree.Open); n > 0 && (tree.Open[n-1] == window || !tree.Open[n-1].IsOpen); n = len(tree.Open) {
		tree.Open[n-1] = nil
		tree.Open = tree.Open[:n-1]
		tree.Closed--
	}
	if tree.Closed > len(tree.Open)/2 { // removing many at a time costs less
		tree.Open = slices.DeleteFunc(tree.Open, func(w *windows.Window) bool { return !w.IsOpen })
		tree.Closed = 0
	}
	if ws.Table.Closed.Add(window) {
		ws.Settle()
	}
}

// snapshot returns a copy of a window, ended with the segment that a boundary ends.
func (ws *Opener) snapshot(window *windows.Window, boundary *event.Boundary) *windows.Window {
	copied, detail := *window, *window.Detail
	copied.Detail = &detail
	if window.Doubts != nil {
		doubts := *window.Doubts
		copied.Doubts = &doubts
	}
	copied.Refused, copied.RefusedBy = slices.Clone(window.Refused), slices.Clone(window.RefusedBy)
	ws.blocks.Copied(&copied)
	ws.end(&copied, boundary)
	ws.blocks.Closed(&copied)
	ws.Table.CountChildren(&copied, -1)
	return &copied
}

// drop closes a statement that turned out to be none, and removes it from the report.
func (ws *Opener) drop(w *windows.Window, b *event.Boundary) {
	w.Dropped = true
	ws.close(w, b)
}

func without(all []*windows.Window, window *windows.Window) []*windows.Window {
	if i := slices.Index(all, window); i >= 0 {
		return slices.Delete(all, i, i+1)
	}
	return all
}

// Settle settles the windows that closed windows.Lingering windows ago, and archives those that closed windows.Horizon
// windows ago. It is called before a boundary: at that point a live session and its recording have taken in the same
// events.
func (ws *Opener) Settle() {
	n := ws.Table.Closed.Due()
	for _, w := range ws.Table.Closed.Closing[:n] {
		w.IsSettled = true
		ws.blocks.Settle(w)
	}
	old := ws.Table.Closed.Move(n)
	for _, window := range old {
		tree := ws.Processes.Tree(window.Root)
		tree.Archived = max(tree.Archived, window.LastSegment)
		ws.blocks.Shorten(window)
		if detail := ws.Table.ArchiveWindow(window); detail != nil {
			ws.blocks.Archived(detail)
		}
	}
	ws.Table.Closed.Drop(old)
}
