package attribution

import (
	"bytes"
	"encoding/binary"
	"iter"
	"maps"
	"slices"

	"github.com/klauspost/compress/zstd"

	"ipytracer/report"
	"ipytracer/tracer/event"
)

// A window that closed a while ago, so that no late change can be one of its own, is kept as bytes: of a statement, an experiment and the
// time between cells all of it; of a cell, to which others refer, its detail. A session has hundreds of thousands of them.

// slot is where a window is: itself, or in the archive.
type slot struct {
	w    *window
	at   uint64
	id   int32
	kind windowKind
}

// archive is what windows were turned into, one after another, packed chunk by chunk. A place in it is the number of its chunk, from 1,
// and its offset there.
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

// pack packs the last chunk. Both coders work in memory only: they fail for options that do not exist, and for bytes that are not theirs.
func (a *archive) pack() {
	if a.zstd == nil {
		a.zstd, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(chunkSize), zstd.WithLowerEncoderMem(true))
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
		r := t.root(w.root)
		r.archived = max(r.archived, w.lastSegment)
		t.shorten(w)
		if t.told[w.cell] == w {
			delete(t.told, w.cell)
		}
		if w.stays() || w == w.process.lastGap {
			c := coder{t: t, bytes: t.coded[:0]}
			c.detail(w)
			t.allocations.spare.from(w.detail)
			w.archived, w.detail, t.coded = t.archive.add(c.bytes), nil, c.bytes
			continue
		}
		if w.slot == 0 || w.dropped {
			continue // there were too many, or it turned out to be none
		}
		c := coder{t: t, bytes: t.coded[:0]}
		c.all(w)
		t.windows[w.slot-1], t.coded = slot{at: t.archive.add(c.bytes), id: int32(w.id), kind: w.kind}, c.bytes
		t.allocations.spare.from(w.detail)
	}
	t.settled = slices.Delete(t.settled, 0, n)
}

// shorten leaves of a window's tallies what a report lists.
func (t *Tracker) shorten(w *window) {
	for _, all := range w.tallies {
		s := all.done
		listed, rest := t.divide(w, s)
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

// whole is a window with its detail, up to now if it is open; of an archived one without its tallies, see [Tracker.talliesOf]. It is not
// to be changed.
func (t *Tracker) whole(w *window) *window {
	switch {
	case w.detail == nil:
		one := *w
		one.detail = &detail{}
		c := t.read(w.archived)
		c.detail(&one)
		return t.inHindsight(&one)
	case w.isOpen:
		one, d := *w, *w.detail
		d.measured = t.measure(w)
		d.shed, d.unwalked = t.root(w.root).shedIn(w), t.root(w.root).unwalkedIn(w)
		d.doubts = t.doubtsOf(w)
		one.detail = &d
		return &one
	}
	return t.inHindsight(w)
}

// at is the i-th window, whole.
func (t *Tracker) at(i int) *window {
	if t.decoded != nil && t.decoded.slot == i+1 {
		return t.decoded
	}
	if w := t.windows[i].w; w != nil {
		if w.detail != nil {
			return t.whole(w)
		}
		one := t.space.begin()
		detail := one.detail
		*one = *w
		one.detail = detail
		c := t.read(w.archived)
		c.space = &t.space
		c.detail(one)
		t.space.end()
		t.decoded = t.inHindsight(one)
		return t.decoded
	}
	w := t.space.begin()
	w.slot = i + 1
	c := t.read(t.windows[i].at)
	c.space = &t.space
	c.all(w)
	t.space.end()
	t.decoded = t.inHindsight(w)
	return t.decoded
}

// talliesOf are a window's tallies.
func (t *Tracker) talliesOf(w *window) map[event.Meter]*tallies {
	if w.talliesAt > 0 && w.tallies == nil {
		c := t.read(w.talliesAt)
		if w.detail == &t.space.detail {
			c.space = &t.space
		}
		c.tallies(w.detail)
	}
	return w.tallies
}

// anyKind is all windows.
func anyKind(windowKind) bool { return true }

// all goes through the windows of some kinds, from the first-th of all on, whole, in the order they began. They are not to be changed.
func (t *Tracker) all(first int, of func(windowKind) bool) iter.Seq[*window] {
	return func(yield func(*window) bool) {
		for i := first; i < len(t.windows); i++ {
			if w := t.windows[i].w; w != nil && w.dropped || !of(t.kindAt(i)) {
				continue
			}
			t.reached = i
			if !yield(t.at(i)) {
				return
			}
		}
	}
}

// coder turns a window into bytes, or back where it reads: each part of it is told once, for both.
type coder struct {
	t     *Tracker
	bytes []byte
	reads bool
	end   uint64 // where bytes end, as a place in the archive
	space *space // for what it reads, nil where that is to be kept
}

// read reads what is at a place of the archive.
func (t *Tracker) read(at uint64) coder {
	bytes := t.archive.of(at)
	return coder{t: t, bytes: bytes, reads: true, end: at + uint64(len(bytes))}
}

type integer interface {
	~int | ~int32 | ~int64 | ~uint32 | ~uint64 | ~uint8
}

func code[T integer](c *coder, values ...*T) {
	for _, v := range values {
		codeOne(c, v)
	}
}

// codeOne codes one value.
func codeOne[T integer](c *coder, v *T) {
	if !c.reads {
		c.bytes = binary.AppendVarint(c.bytes, int64(*v))
		return
	}
	if first := c.bytes[0]; first < 0x80 { // most have one byte
		*v, c.bytes = T(int64(first>>1)^-int64(first&1)), c.bytes[1:]
		return
	}
	n, length := binary.Varint(c.bytes)
	*v, c.bytes = T(n), c.bytes[length:]
}

// beside codes a value by how far it is from another.
func beside[T integer](c *coder, v *T, from T) {
	away := *v - from
	codeOne(c, &away)
	*v = from + away
}

func (c *coder) flags(flags ...*bool) {
	bits := uint32(0)
	for i, f := range flags {
		if *f {
			bits |= 1 << i
		}
	}
	codeOne(c, &bits)
	for i, f := range flags {
		*f = bits&(1<<i) != 0
	}
}

func (c *coder) text(s *string) {
	n := len(*s)
	codeOne(c, &n)
	if !c.reads {
		c.bytes = append(c.bytes, *s...)
		return
	}
	*s, c.bytes = string(c.bytes[:n]), c.bytes[n:]
}

// length codes the length of a list, and makes it when it reads.
func length[T any](c *coder, list *[]T) {
	n := len(*list)
	codeOne(c, &n)
	if c.reads && n > 0 {
		*list = slices.Grow((*list)[:0], n)[:n]
		clear(*list)
	}
}

func (c *coder) staying(w **window) {
	number := int32(0)
	if *w != nil {
		number = (*w).number
	}
	if codeOne(c, &number); c.reads && number > 0 {
		*w = c.t.staying[number-1]
	}
}

func (c *coder) process(p **process) {
	index := 0
	if *p != nil {
		index = (*p).index
	}
	codeOne(c, &index)
	*p = c.t.order[index]
}

// all codes a window that nobody refers to, its id first.
func (c *coder) all(w *window) {
	codeOne(c, &w.id)
	c.core(w)
	c.detail(w)
}

// core codes what the others refer to; of windows that nobody refers to.
func (c *coder) core(w *window) {
	codeOne(c, &w.kind)
	c.staying(&w.parent)
	c.process(&w.process)
	codeOne(c, &w.root)
	codeOne(c, &w.firstSegment)
	beside(c, &w.lastSegment, w.firstSegment)
	codeOne(c, &w.opened)
	beside(c, &w.closed, w.opened)
	codeOne(c, &w.closing)
	code(c, &w.count, &w.line)
	c.flags(&w.missed, &w.doubted, &w.truncated)
	c.text(&w.name)
	c.text(&w.status)
	c.text(&w.note)
	c.staying(&w.before)
	c.staying(&w.after)
}

// detail codes a window's detail. Its tallies come last: it does not read them, but says where they are.
func (c *coder) detail(w *window) {
	d := w.detail
	codeOne(c, &d.openStream)
	beside(c, &d.closeStream, d.openStream)
	codeOne(c, &d.openCPU)
	beside(c, &d.closeCPU, d.openCPU)
	sameTree := slices.Equal(d.own, d.tree)
	frees := d.openUnknown|d.closeUnknown|d.openDevice|d.closeDevice|d.openUnknownHeap|d.closeUnknownHeap|d.openUnknownTorch|d.closeUnknownTorch != 0 ||
		d.openSlack|d.closeSlack|d.openHeap|d.closeHeap|d.openTorch|d.closeTorch|d.unsure|d.unsureTorch != 0
	refused, tallied, alone := len(d.refused) > 0 || d.foreign != (report.Foreign{}), len(d.tallies) > 0, len(d.children) == 0 && d.measured.unlisted == 0 && !d.sharing
	marked, doubted := len(d.shed) > 0 || len(d.unwalked) > 0, d.doubts != nil
	c.flags(&sameTree, &frees, &refused, &tallied, &alone, &marked, &doubted, &d.isSettled, &d.uncounted, &d.crowded)
	codeOne(c, &d.until)
	if frees {
		code(c, &d.openUnknown, &d.closeUnknown, &d.openDevice, &d.closeDevice, &d.openUnknownHeap, &d.closeUnknownHeap, &d.openUnknownTorch, &d.closeUnknownTorch)
		code(c, &d.openSlack, &d.closeSlack, &d.openHeap, &d.closeHeap, &d.openTorch, &d.closeTorch, &d.unsure, &d.unsureTorch)
	}
	c.figures(&d.own)
	if sameTree {
		d.tree = d.own
	} else {
		c.figures(&d.tree)
	}
	c.recomputed(d)
	if !alone {
		c.children(d)
	}
	if marked {
		c.marks(d)
	}
	if doubted {
		c.doubts(d)
	}
	if refused {
		c.requests(d)
	}
	switch {
	case tallied && c.reads:
		d.talliesAt = c.end - uint64(len(c.bytes))
	case tallied:
		c.tallies(d)
	}
}

func (c *coder) figures(all *figures) {
	n := len(*all)
	if codeOne(c, &n); c.reads {
		*all = c.space.figures(n)
	}
	for i := range *all {
		f := &(*all)[i]
		codeOne(c, &f.meter)
		codeOne(c, &f.start)
		beside(c, &f.peak, f.start)
		beside(c, &f.end, f.start)
	}
}

// recomputed codes what differs from the peaks that the kernel's ledger says.
func (c *coder) recomputed(d *detail) {
	var differ levels
	if !c.reads {
		for _, f := range d.own {
			if away := d.recomputed.of(f.meter) - f.highest(); away != 0 {
				differ = append(differ, level{away, f.meter})
			}
		}
		for _, l := range d.recomputed {
			if d.own.of(l.meter) == (figure{meter: l.meter}) && l.bytes != 0 {
				differ.need(l.meter).bytes = l.bytes
			}
		}
	}
	c.levels(&differ)
	if c.reads {
		for _, f := range d.own {
			d.recomputed = append(d.recomputed, level{f.highest(), f.meter})
		}
		for _, l := range differ {
			d.recomputed.need(l.meter).bytes += l.bytes
		}
	}
}

func (c *coder) levels(all *levels) {
	length(c, (*[]level)(all))
	for i := range *all {
		code(c, &(*all)[i].meter)
		code(c, &(*all)[i].bytes)
	}
}

func (c *coder) children(d *detail) {
	c.flags(&d.sharing)
	c.levels(&d.shared)
	codeOne(c, &d.measured.unlisted)
	length(c, &d.children)
	for i := range d.children {
		c.process(&d.children[i].process)
		c.figures(&d.children[i].figures)
	}
}

func (c *coder) marks(d *detail) {
	length(c, &d.shed)
	for i := range d.shed {
		codeOne(c, &d.shed[i])
	}
	length(c, &d.unwalked)
	for i := range d.unwalked {
		c.text(&d.unwalked[i])
	}
}

func (c *coder) doubts(d *detail) {
	if c.reads {
		d.doubts = &doubts{}
	}
	all := d.doubts
	for i := range all.missing {
		codeOne(c, &all.missing[i])
	}
	code(c, &all.statements, &all.markers)
	c.flags(&all.loose, &all.partly)
	for i := range all.blind {
		code(c, &all.blind[i], &all.blindTree[i])
	}
}

func (c *coder) requests(d *detail) {
	code(c, &d.foreign.Opened, &d.foreign.Closed, &d.foreign.Open)
	length(c, &d.refused)
	length(c, &d.refusedBy)
	for i := range d.refused {
		r := &d.refused[i]
		c.text(&r.Meter)
		code(c, &r.Asked, &r.Held, &r.Limit)
		codeOne(c, &r.Count)
		c.text(&r.Caller)
		codeOne(c, &d.refusedBy[i])
	}
}

func (c *coder) tallies(d *detail) {
	var meters []event.Meter
	if !c.reads {
		meters = slices.Sorted(maps.Keys(d.tallies))
	}
	length(c, &meters)
	for i := range meters {
		codeOne(c, &meters[i])
		if c.reads {
			if d.tallies == nil {
				d.tallies = c.space.tallied(len(meters))
			}
			d.tallies[meters[i]] = c.space.talliesOf(i)
		}
		c.tally(d.tallies[meters[i]])
	}
}

func (c *coder) tally(all *tallies) {
	c.flags(&all.wrong)
	s := all.done
	code(c, &all.highest, &all.first, &s.known, &s.net, &s.heaviest)
	codeOne(c, &s.stacks)
	if s.stacks > 0 {
		code(c, &s.rest.allocated, &s.rest.freed, &s.rest.atPeak)
	}
	length(c, &s.tallies)
	for i := range s.tallies {
		c.done(&s.tallies[i])
	}
}

// stack codes a stack's number by where it is in the table. A number that is not there is 0 by now.
func (c *coder) stack(number *uint64) {
	table, at := &c.t.allocations.stacks, uint32(0)
	if !c.reads {
		if i, known := table.placeOf(*number); known {
			at = i + 1
		}
	}
	if codeOne(c, &at); c.reads && at > 0 {
		*number = table.stacks[at-1].number
	}
}

func (c *coder) done(y *doneTally) {
	c.stack(&y.stack)
	code(c, &y.allocated, &y.freed, &y.atPeak)
	codeOne(c, &y.count)
}
