package attribution

import (
	"iter"
	"sort"

	"ipytracer/attribution/internal/stacks"
	"ipytracer/event"
)

// windowTable has all windows of a session in the order they began: each itself, or its place in the archive.
type windowTable struct {
	tableCounts
	processes *processes
	stacks    *stacks.Table
	inTheEnd  *inTheEnd
	archive   *Archive
	closed    *closedWindows
	running   map[uint64]*window // cells that run

	slots     []slot
	staying   []*window // those that others may refer to
	noTallies bool      // tallies are not kept any more: see [windowTable.giveUp]
	forgets   bool      // nothing is archived, see [Monitor]

	coded   []byte  // buffer for records of the archive
	reached int     // index of the window that was made last by all
	decoded *window // the last that was read from the archive
	space   space
}

// tableCounts count the windows of a table.
type tableCounts struct {
	statements, experiments int // made so far
	dropped                 int // not kept
	nextID                  int
	counted                 bool   // a window has counters
	children                int    // listed by all windows that are over
	closings                uint64 // number of windows that closed
}

func newWindowTable(p *processes, stacks *stacks.Table) *windowTable {
	return &windowTable{processes: p, stacks: stacks, inTheEnd: &inTheEnd{processes: p},
		archive: &Archive{}, tableCounts: tableCounts{nextID: 1}, running: map[uint64]*window{},
		closed: &closedWindows{processes: p, cells: map[uint64]*window{}}}
}

// open gives a window its id. The time between cells is no window of a report: it has the id of the next window.
func (wt *windowTable) open(w *window) {
	wt.counted = wt.counted || w.openCounters != nil
	w.id = wt.nextID
	if w.kind.isReported() {
		wt.nextID++
	}
}

// close gives a window its number among those that closed.
func (wt *windowTable) close(w *window) {
	wt.closings++
	w.closing = wt.closings
}

// drop counts a window for which there is no room.
func (wt *windowTable) drop() { wt.dropped++ }

// first returns the index of the first window that has at least an id.
func (wt *windowTable) first(id int) int {
	return sort.Search(len(wt.slots), func(i int) bool { return wt.idAt(i) >= id })
}

// keep adds a window for the report, or counts it where there are too many.
func (wt *windowTable) keep(w *window) {
	if wt.forgets {
		return
	}
	if w.kind == kindStatement {
		wt.statements++
	}
	if w.kind == kindExperiment {
		wt.experiments++
	}
	if len(wt.slots) >= maxWindows || w.kind == kindStatement && wt.statements > maxStatements ||
		w.kind == kindExperiment && wt.experiments > maxExperiments {
		wt.dropped++
		return
	}
	wt.slots = append(wt.slots, slot{w: w})
	w.slot = len(wt.slots)
	if w.stays() {
		wt.staying = append(wt.staying, w)
		w.number = int32(len(wt.staying))
	}
}

// put turns a window into bytes, and returns the detail that is not needed any more; nil for a window that is not in
// the table: there were too many, or it was dropped.
func (wt *windowTable) put(w *window) *detail {
	if wt.forgets {
		return nil
	}
	c, of := wt.coder(wt.coded[:0]), w.detail
	if w.stays() || w == w.process.lastGap {
		c.detail(w)
		w.archived, w.detail, wt.coded = wt.archive.Add(c.bytes), nil, c.bytes
		return of
	}
	if w.slot == 0 || w.dropped {
		return nil
	}
	c.all(w)
	wt.slots[w.slot-1] = slot{at: wt.archive.Add(c.bytes), id: int32(w.id), kind: w.kind}
	wt.coded = c.bytes
	return of
}

// idAt returns the id of the i-th window.
func (wt *windowTable) idAt(i int) int {
	if w := wt.slots[i].w; w != nil {
		return w.id
	}
	return int(wt.slots[i].id)
}

// kindAt returns the kind of the i-th window.
func (wt *windowTable) kindAt(i int) windowKind {
	if w := wt.slots[i].w; w != nil {
		return w.kind
	}
	return wt.slots[i].kind
}

// at returns the i-th window, whole.
func (wt *windowTable) at(i int) *window {
	if wt.decoded != nil && wt.decoded.slot == i+1 {
		return wt.decoded
	}
	if w := wt.slots[i].w; w != nil {
		if w.detail != nil {
			return wt.whole(w)
		}
		one := wt.space.begin()
		detail := one.detail
		*one = *w
		one.detail = detail
		c := wt.read(w.archived)
		c.space = &wt.space
		c.detail(one)
		wt.space.end()
		wt.decoded = wt.inTheEnd.inHindsight(one)
		return wt.decoded
	}
	w := wt.space.begin()
	w.slot = i + 1
	c := wt.read(wt.slots[i].at)
	c.space = &wt.space
	c.all(w)
	wt.space.end()
	wt.decoded = wt.inTheEnd.inHindsight(w)
	return wt.decoded
}

// all yields the windows of some kinds, whole, in the order they began, starting at index first of all windows. They
// must not be changed.
func (wt *windowTable) all(first int, of func(windowKind) bool) iter.Seq[*window] {
	return func(yield func(*window) bool) {
		for i := first; i < len(wt.slots); i++ {
			if w := wt.slots[i].w; w != nil && w.dropped || !of(wt.kindAt(i)) {
				continue
			}
			wt.reached = i
			if !yield(wt.at(i)) {
				return
			}
		}
	}
}

// anyKind selects all windows.
func anyKind(windowKind) bool { return true }

// windowOf returns a window of a report, nil if there is none.
func (wt *windowTable) windowOf(id int) *window {
	if wt.reached < len(wt.slots) && wt.idAt(wt.reached) == id {
		if w := wt.at(wt.reached); w.kind.isReported() && !w.dropped {
			return w
		}
	}
	i := wt.first(id)
	for ; i < len(wt.slots); i++ {
		w := wt.at(i)
		if w.id != id {
			return nil
		}
		if w.kind.isReported() && !w.dropped {
			return w
		}
	}
	return nil
}

// whole returns a window with its detail, up to now if it is open; of an archived one without its tallies, see
// [windowTable.talliesOf]. It must not be changed.
func (wt *windowTable) whole(w *window) *window {
	switch {
	case w.detail == nil:
		one := *w
		one.detail = &detail{}
		c := wt.read(w.archived)
		c.detail(&one)
		return wt.inTheEnd.inHindsight(&one)
	case w.isOpen:
		one, d := *w, *w.detail
		d.measured = wt.measure(w)
		d.shed, d.unwalked = wt.processes.root(w.root).shedIn(w), wt.processes.root(w.root).unwalkedIn(w)
		d.doubts = wt.doubtsOf(w)
		one.detail = &d
		return &one
	}
	return wt.inTheEnd.inHindsight(w)
}

// talliesOf returns a window's tallies.
func (wt *windowTable) talliesOf(w *window) map[event.Meter]*stacks.Tallies {
	if w.talliesAt > 0 && w.tallies == nil && !wt.noTallies {
		c := wt.read(w.talliesAt)
		if w.detail == &wt.space.detail {
			c.space = &wt.space
		}
		c.tallies(w.detail)
	}
	return w.tallies
}

// sessions returns the sessions, whole.
func (wt *windowTable) sessions() map[*window]*window {
	out := map[*window]*window{}
	for _, w := range wt.staying {
		if w.kind == kindSession {
			out[w] = wt.whole(w)
		}
	}
	return out
}

func (wt *windowTable) notSeenWhole() (n uint64) {
	for _, w := range wt.staying {
		if w.missed || w.doubted {
			n++
		}
	}
	return n
}

// forget drops the window that was read last: it may be outdated.
func (wt *windowTable) forget() { wt.decoded = nil }

// read returns a coder that reads at a place of the archive.
func (wt *windowTable) read(at uint64) coder {
	bytes := wt.archive.Of(at)
	c := wt.coder(bytes)
	c.reads, c.end = true, at+uint64(len(bytes))
	return c
}

// coder returns a coder of windows of the table.
func (wt *windowTable) coder(bytes []byte) coder {
	return coder{others: wt.staying, processes: wt.processes.order, stacks: wt.stacks, bytes: bytes}
}

// giveUp makes windows that are read from the archive come without tallies.
func (wt *windowTable) giveUp() { wt.decoded, wt.noTallies = nil, true }

// A window that closed a while ago, so that no late change can belong to it, is kept as bytes: of a statement, an
// experiment and the time between cells all of it; of a cell, to which other windows refer, only its detail. A session
// has hundreds of thousands of them.

// slot is the place of a window: the window itself, or its place in the archive.
type slot struct {
	w    *window
	at   uint64
	id   int32
	kind windowKind
}
