package windows

import (
	"iter"
	"sort"

	"ipytracer/attribution/internal/stacks"
	"ipytracer/event"
)

// Table has all windows of a session in the order they began. Each slot has a window or its place in the archive.
type Table struct {
	tableCounts
	processes *Processes
	stacks    *stacks.Table
	Hindsight *hindsight
	Archive   *Archive
	Closed    *Closed
	Running   map[uint64]*Window // cells that run

	Slots     []slot
	Staying   []*Window // windows that other windows may refer to
	noTallies bool      // tallies are not kept any more: see [Table.GiveUp]
	forgets   bool      // nothing is archived, see [Monitor]

	Coded   []byte  // buffer for records of the archive
	reached int     // index of the window that All yielded last
	decoded *Window // the window that was read last from the archive
	space   space
}

// tableCounts count the windows of a table.
type tableCounts struct {
	statements, Experiments int // made so far
	Dropped                 int // not kept
	nextID                  int
	Counted                 bool   // a window has counters
	children                int    // listed by all windows that are over
	Closings                uint64 // number of windows that closed
}

func newTable(p *Processes, stacks *stacks.Table, forgets bool) *Table {
	return &Table{processes: p, stacks: stacks, forgets: forgets, Hindsight: &hindsight{processes: p},
		Archive: &Archive{}, tableCounts: tableCounts{nextID: 1}, Running: map[uint64]*Window{},
		Closed: &Closed{processes: p, cells: map[uint64]*Window{}}}
}

// Open gives a window its id. The time between cells is no window of a report: its id is that of the next window.
func (wt *Table) Open(w *Window) {
	wt.Counted = wt.Counted || w.OpenCounters != nil
	w.ID = wt.nextID
	if w.Kind.IsReported() {
		wt.nextID++
	}
}

// Close gives a window its number among those that closed.
func (wt *Table) Close(w *Window) {
	wt.Closings++
	w.Closing = wt.Closings
}

// Drop counts a window for which there is no room.
func (wt *Table) Drop() { wt.Dropped++ }

// First returns the index of the first window whose id is at least id.
func (wt *Table) First(id int) int {
	return sort.Search(len(wt.Slots), func(i int) bool { return wt.idAt(i) >= id })
}

// Keep adds a window for the report, or counts it where there are too many.
func (wt *Table) Keep(w *Window) {
	if wt.forgets {
		return
	}
	hasRoom := len(wt.Slots) < maxWindows
	switch w.Kind {
	case KindStatement:
		wt.statements++
		hasRoom = hasRoom && wt.statements <= wt.processes.limits.MostStatements
	case KindExperiment:
		wt.Experiments++
		hasRoom = hasRoom && wt.Experiments <= MaxExperiments
	}
	if !hasRoom {
		wt.Dropped++
		return
	}
	wt.Slots = append(wt.Slots, slot{W: w})
	w.Slot = len(wt.Slots)
	if w.stays() {
		wt.Staying = append(wt.Staying, w)
		w.number = int32(len(wt.Staying))
	}
}

// ArchiveWindow writes a window to the archive, and returns its detail for reuse. It returns nil for a window that is
// not in the table: it had no room there, or was dropped.
func (wt *Table) ArchiveWindow(w *Window) *Detail {
	if wt.forgets {
		return nil
	}
	c := wt.coder(wt.Coded[:0])
	detail := w.Detail
	if w.stays() || w == w.Process.LastBetween {
		c.detail(w)
		w.archived, w.Detail, wt.Coded = wt.Archive.Add(c.bytes), nil, c.bytes
		return detail
	}
	if w.Slot == 0 || w.Dropped {
		return nil
	}
	c.wholeWindow(w)
	wt.Slots[w.Slot-1] = slot{at: wt.Archive.Add(c.bytes), id: int32(w.ID), parent: w.parentID(), kind: w.Kind}
	wt.Coded = c.bytes
	return detail
}

// idAt returns the id of the i-th window.
func (wt *Table) idAt(i int) int {
	if w := wt.Slots[i].W; w != nil {
		return w.ID
	}
	return int(wt.Slots[i].id)
}

// parentID returns the id of the window's parent, 0 for none.
func (w *Window) parentID() int32 {
	if w.Parent == nil {
		return 0
	}
	return int32(w.Parent.ID)
}

// At returns the i-th window, whole.
func (wt *Table) At(i int) *Window {
	if wt.decoded != nil && wt.decoded.Slot == i+1 {
		return wt.decoded
	}
	w := wt.Slots[i].W
	if w != nil && w.Detail != nil {
		return wt.Whole(w)
	}
	decoded := wt.space.begin()
	if w == nil { // the whole window is in the archive
		decoded.Slot = i + 1
		c := wt.readToSpace(wt.Slots[i].at)
		c.wholeWindow(decoded)
	} else { // only its detail is
		detail := decoded.Detail
		*decoded = *w
		decoded.Detail = detail
		c := wt.readToSpace(w.archived)
		c.detail(decoded)
	}
	wt.space.end()
	wt.decoded = wt.Hindsight.complete(decoded)
	return wt.decoded
}

// selection reports whether a window is selected, by its kind, its id and that of its parent.
type selection func(kind WindowKind, id, parent int) bool

// OfKind selects the windows of a kind.
func OfKind(kind WindowKind) selection { return OfKinds(func(k WindowKind) bool { return k == kind }) }

// OfKinds selects the windows of some kinds.
func OfKinds(kinds func(WindowKind) bool) selection {
	return func(kind WindowKind, _, _ int) bool { return kinds(kind) }
}

// All yields the selected windows, whole, in the order they began, from index first of Slots on. The caller must not
// change the windows.
func (wt *Table) All(first int, selects selection) iter.Seq[*Window] {
	return func(yield func(*Window) bool) {
		for i := first; i < len(wt.Slots); i++ {
			s := wt.Slots[i]
			if w := s.W; w != nil {
				if w.Dropped {
					continue
				}
				s.id, s.parent, s.kind = int32(w.ID), w.parentID(), w.Kind
			}
			if !selects(s.kind, int(s.id), int(s.parent)) {
				continue
			}
			wt.reached = i
			if !yield(wt.At(i)) {
				return
			}
		}
	}
}

// Any selects all windows.
func Any(WindowKind, int, int) bool { return true }

// WindowOf returns the reported window with an id, nil if there is none.
func (wt *Table) WindowOf(id int) *Window {
	if wt.reached < len(wt.Slots) && wt.idAt(wt.reached) == id { // usually asked for while All yields it
		if w := wt.At(wt.reached); w.Kind.IsReported() && !w.Dropped {
			return w
		}
	}
	i := wt.First(id)
	for ; i < len(wt.Slots); i++ {
		w := wt.At(i)
		if w.ID != id {
			return nil
		}
		if w.Kind.IsReported() && !w.Dropped {
			return w
		}
	}
	return nil
}

// Whole returns a window with its detail. The figures of an open window reach up to now. An archived window comes
// without its tallies, see [Table.TalliesOf]. The caller must not change the result.
func (wt *Table) Whole(w *Window) *Window {
	switch {
	case w.Detail == nil:
		one := *w
		one.Detail = &Detail{}
		c := wt.read(w.archived)
		c.detail(&one)
		return wt.Hindsight.complete(&one)
	case w.IsOpen:
		one, d := *w, *w.Detail
		d.Measured = wt.Measure(w)
		d.Paused, d.PausedStacks = wt.processes.Tree(w.Root).PausedIn(w), wt.processes.Tree(w.Root).PausedStacksIn(w)
		d.Doubts, d.Container = wt.DoubtsOf(w), w.Process.ContainerIn(w, nil)
		d.CloseSwapped = w.Process.SwappedNow
		one.Detail = &d
		return &one
	}
	return wt.Hindsight.complete(w)
}

// TalliesOf returns a window's tallies.
func (wt *Table) TalliesOf(w *Window) map[event.Meter]*stacks.Tallies {
	if w.talliesAt > 0 && w.Tallies == nil && !wt.noTallies {
		c := wt.read(w.talliesAt)
		if w.Detail == &wt.space.detail {
			c.space = &wt.space
		}
		c.tallies(w.Detail)
	}
	return w.Tallies
}

// Sessions returns the sessions, whole.
func (wt *Table) Sessions() map[*Window]*Window {
	out := map[*Window]*Window{}
	for _, w := range wt.Staying {
		if w.Kind == KindSession {
			out[w] = wt.Whole(w)
		}
	}
	return out
}

// NotSeenWhole counts the windows that are doubted, or whose end was missed.
func (wt *Table) NotSeenWhole() (n uint64) {
	for _, w := range wt.Staying {
		if w.Missed || w.Doubted {
			n++
		}
	}
	return n
}

// Forget drops the window that was read last from the archive: its doubts may be outdated.
func (wt *Table) Forget() { wt.decoded = nil }

// read returns a coder that reads at a place of the archive.
func (wt *Table) read(at uint64) coder {
	bytes := wt.Archive.From(at)
	c := wt.coder(bytes)
	c.reads, c.end = true, at+uint64(len(bytes))
	return c
}

// readToSpace is read with a coder that reads into the memory of wt.space.
func (wt *Table) readToSpace(at uint64) coder {
	c := wt.read(at)
	c.space = &wt.space
	return c
}

// coder returns a coder of windows of the table.
func (wt *Table) coder(bytes []byte) coder {
	return coder{others: wt.Staying, processes: wt.processes.Order, stacks: wt.stacks, bytes: bytes}
}

// GiveUp makes windows that are read from the archive come without tallies.
func (wt *Table) GiveUp() { wt.decoded, wt.noTallies = nil, true }

// A session has hundreds of thousands of windows. So a window that closed a while ago is kept as bytes: no late change
// can belong to it. A statement, an experiment and a time between cells become bytes as a whole. Of a cell only the
// detail does, because other windows refer to cells.

// slot is the place of a window: the window itself, or its place in the archive.
type slot struct {
	W      *Window
	at     uint64
	id     int32
	parent int32 // the id of its parent, 0 for none
	kind   WindowKind
}
