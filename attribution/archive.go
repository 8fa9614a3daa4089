package attribution

import (
	"bytes"
	"iter"
	"slices"

	"github.com/klauspost/compress/zstd"

	"ipytracer/event"
)

// A window that closed a while ago, so that no late change can be one of its own, is kept as bytes: of a statement, an
// experiment and the time between cells all of it; of a cell, to which others refer, its detail. A session has hundreds
// of thousands of them.

// slot is where a window is: itself, or in the archive.
type slot struct {
	w    *window
	at   uint64
	id   int32
	kind windowKind
}

// archive is what windows were turned into, one after another, packed chunk by chunk. A place in it is the number of
// its chunk, from 1, and its offset there.
type archive struct {
	size   int // of a chunk, 0 for chunkSize
	packed [][]byte
	last   []byte // the chunk that is being filled
	space  []byte // to pack it in
	opened int    // the chunk that was unpacked last, from 1
	open   []byte
	zstd   *zstd.Encoder
	unzstd *zstd.Decoder
}

const chunkSize = 64 << 10

func (a *archive) add(record []byte) uint64 {
	if a.size == 0 {
		a.size = chunkSize
	}
	if len(a.last)+len(record) > a.size && len(a.last) > 0 {
		a.pack()
	}
	at := uint64(len(a.packed)+1)<<32 | uint64(len(a.last))
	a.last = append(a.last, record...)
	return at
}

// pack packs the last chunk. Both coders work in memory only: they fail for options that do not exist, and for bytes
// that are not theirs.
func (a *archive) pack() {
	if a.zstd == nil {
		a.zstd, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithWindowSize(chunkSize), zstd.WithLowerEncoderMem(true))
		a.unzstd, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	}
	a.space = a.zstd.EncodeAll(a.last, a.space[:0])
	a.packed = append(a.packed, bytes.Clone(a.space))
	a.last = a.last[:0]
}

func (a *archive) of(at uint64) []byte {
	chunk, offset := int(at>>32), uint32(at)
	if chunk > len(a.packed) {
		return a.last[offset:]
	}
	if a.opened != chunk {
		unpacked, err := a.unzstd.DecodeAll(a.packed[chunk-1], a.open[:0])
		if err != nil {
			panic(err)
		}
		a.opened, a.open = chunk, unpacked
	}
	return a.open[offset:]
}

// horizon is how many windows must have closed after one before it is archived. What comes later than that is lost.
const horizon = 128

// archiveClosed archives the windows that closed long ago.
func (t *Tracker) archiveClosed() {
	n := max(0, len(t.settled)-horizon)
	for _, w := range t.settled[:n] {
		r := t.processes.root(w.root)
		r.archived = max(r.archived, w.lastSegment)
		t.shorten(w)
		if t.told[w.cell] == w {
			delete(t.told, w.cell)
		}
		if w.stays() || w == w.process.lastGap {
			c := coder{t: t.table, bytes: t.table.coded[:0]}
			c.detail(w)
			t.allocations.spare.from(w.detail)
			w.archived, w.detail, t.table.coded = t.archive.add(c.bytes), nil, c.bytes
			continue
		}
		if w.slot == 0 || w.dropped {
			continue // there were too many, or it turned out to be none
		}
		c := coder{t: t.table, bytes: t.table.coded[:0]}
		c.all(w)
		t.table.slots[w.slot-1], t.table.coded = slot{at: t.archive.add(c.bytes), id: int32(w.id),
			kind: w.kind}, c.bytes
		t.allocations.spare.from(w.detail)
	}
	t.settled = slices.Delete(t.settled, 0, n)
}

// shorten leaves of a window's tallies what a report lists.
func (t *Tracker) shorten(w *window) {
	for _, all := range w.tallies {
		s := all.done
		listed, rest := t.divided.divide(w, s)
		for _, y := range rest {
			s.stacks++
			s.rest.allocated += y.allocated
			s.rest.freed += y.freed
			s.rest.atPeak += y.atPeak
		}
		copy(s.tallies, listed) // in the same memory: the window is turned into bytes now, and then it goes
		s.tallies, s.isShort = s.tallies[:len(listed)], true
	}
}

// whole is a window with its detail, up to now if it is open; of an archived one without its tallies, see
// [windowTable.talliesOf]. It is not to be changed.
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

// at is the i-th window, whole.
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

// talliesOf are a window's tallies.
func (wt *windowTable) talliesOf(w *window) map[event.Meter]*tallies {
	if w.talliesAt > 0 && w.tallies == nil && !wt.noTallies {
		c := wt.read(w.talliesAt)
		if w.detail == &wt.space.detail {
			c.space = &wt.space
		}
		c.tallies(w.detail)
	}
	return w.tallies
}

// anyKind is all windows.
func anyKind(windowKind) bool { return true }

// all goes through the windows of some kinds, from the first-th of all on, whole, in the order they began. They are not
// to be changed.
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
