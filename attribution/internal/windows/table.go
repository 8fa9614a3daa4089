package windows

import (
	"iter"
	"sort"

	"ipytracer/attribution/internal/stacks"
	"ipytracer/event"
)

// Table has all windows of a session in the order they began: each itself, or its place in the archive.
type Table struct {
	tableCounts
	processes *Processes
	stacks    *stacks.Table
	Hindsight *hindsight
	Archive   *Archive
	Closed    *Closed
	Running   map[uint64]*Window // cells that run

	Slots     []slot
	Staying   []*Window // those that others may refer to
	noTallies bool      // tallies are not kept any more: see [Table.GiveUp]
	forgets   bool      // nothing is archived, see [Monitor]

	Coded   []byte  // buffer for records of the archive
	reached int     // index of the window that was made last by all
	decoded *Window // the last that was read from the archive
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

// Open gives a window its id. The time between cells is no window of a report: it has the id of the next window.
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

// First returns the index of the first window that has at least an id.
func (wt *Table) First(id int) int {
	return sort.Search(len(wt.Slots), func(i int) bool { return wt.idAt(i) >= id })
}

// Keep adds a window for the report, or counts it where there are too many.
func (wt *Table) Keep(w *Window) {
	if wt.forgets {
		return
	}
	if w.Kind == KindStatement {
		wt.statements++
	}
	if w.Kind == KindExperiment {
		wt.Experiments++
	}
	if len(wt.Slots) >= maxWindows || w.Kind == KindStatement && wt.statements > wt.processes.limits.MostStatements ||
		w.Kind == KindExperiment && wt.Experiments > MaxExperiments {
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

// Put turns a window into bytes, and returns the detail that is not needed any more; nil for a window that is not in
// the table: there were too many, or it was dropped.
func (wt *Table) Put(w *Window) *Detail {
	if wt.forgets {
		return nil
	}
	c, of := wt.coder(wt.Coded[:0]), w.Detail
	if w.stays() || w == w.Process.LastBetween {
		c.detail(w)
		w.archived, w.Detail, wt.Coded = wt.Archive.Add(c.bytes), nil, c.bytes
		return of
	}
	if w.Slot == 0 || w.Dropped {
		return nil
	}
	c.all(w)
	wt.Slots[w.Slot-1] = slot{at: wt.Archive.Add(c.bytes), id: int32(w.ID), kind: w.Kind}
	wt.Coded = c.bytes
	return of
}

// idAt returns the id of the i-th window.
func (wt *Table) idAt(i int) int {
	if w := wt.Slots[i].W; w != nil {
		return w.ID
	}
	return int(wt.Slots[i].id)
}

// kindAt returns the kind of the i-th window.
func (wt *Table) kindAt(i int) WindowKind {
	if w := wt.Slots[i].W; w != nil {
		return w.Kind
	}
	return wt.Slots[i].kind
}

// At returns the i-th window, whole.
func (wt *Table) At(i int) *Window {
	if wt.decoded != nil && wt.decoded.Slot == i+1 {
		return wt.decoded
	}
	if w := wt.Slots[i].W; w != nil {
		if w.Detail != nil {
			return wt.Whole(w)
		}
		one := wt.space.begin()
		detail := one.Detail
		*one = *w
		one.Detail = detail
		c := wt.read(w.archived)
		c.space = &wt.space
		c.detail(one)
		wt.space.end()
		wt.decoded = wt.Hindsight.complete(one)
		return wt.decoded
	}
	w := wt.space.begin()
	w.Slot = i + 1
	c := wt.read(wt.Slots[i].at)
	c.space = &wt.space
	c.all(w)
	wt.space.end()
	wt.decoded = wt.Hindsight.complete(w)
	return wt.decoded
}

// All yields the windows of some kinds, whole, in the order they began, starting at index first of all windows. They
// must not be changed.
func (wt *Table) All(first int, of func(WindowKind) bool) iter.Seq[*Window] {
	return func(yield func(*Window) bool) {
		for i := first; i < len(wt.Slots); i++ {
			if w := wt.Slots[i].W; w != nil && w.Dropped || !of(wt.kindAt(i)) {
				continue
			}
			wt.reached = i
			if !yield(wt.At(i)) {
				return
			}
		}
	}
}

// AnyKind selects all windows.
func AnyKind(WindowKind) bool { return true }

// WindowOf returns a window of a report, nil if there is none.
func (wt *Table) WindowOf(id int) *Window {
	if wt.reached < len(wt.Slots) && wt.idAt(wt.reached) == id {
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

// Whole returns a window with its detail, up to now if it is open; of an archived one without its tallies, see
// [Table.TalliesOf]. It must not be changed.
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
		d.Doubts = wt.DoubtsOf(w)
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

// NotSeenWhole returns how many windows are doubted, or have an end that was missed.
func (wt *Table) NotSeenWhole() (n uint64) {
	for _, w := range wt.Staying {
		if w.Missed || w.Doubted {
			n++
		}
	}
	return n
}

// Forget drops the window that was read last: it may be outdated.
func (wt *Table) Forget() { wt.decoded = nil }

// read returns a coder that reads at a place of the archive.
func (wt *Table) read(at uint64) coder {
	bytes := wt.Archive.Of(at)
	c := wt.coder(bytes)
	c.reads, c.end = true, at+uint64(len(bytes))
	return c
}

// coder returns a coder of windows of the table.
func (wt *Table) coder(bytes []byte) coder {
	return coder{others: wt.Staying, processes: wt.processes.Order, stacks: wt.stacks, bytes: bytes}
}

// GiveUp makes windows that are read from the archive come without tallies.
func (wt *Table) GiveUp() { wt.decoded, wt.noTallies = nil, true }

// A window that closed a while ago, so that no late change can belong to it, is kept as bytes: of a statement, an
// experiment and the time between cells all of it; of a cell, to which other windows refer, only its detail. A session
// has hundreds of thousands of them.

// slot is the place of a window: the window itself, or its place in the archive.
type slot struct {
	W    *Window
	at   uint64
	id   int32
	kind WindowKind
}
