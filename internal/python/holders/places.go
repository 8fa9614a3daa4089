package holders

import (
	"cmp"
	"slices"
	"time"

	"ipytracer/event"
	"ipytracer/internal/python/cpython"
)

// Places has where the blocks lie that owners hold and nothing else does: what a process would free when they let go.
// Owners are bits, by their index in the listing.
type Places struct {
	Large []Placed // of leastPlaced bytes and more, by address; they do not overlap
	Maps  []Placed // memory maps, likewise: of these only what is in memory counts
	small map[uint64]placedPage
	// Complete is false where time or room was over: some blocks are missing.
	Complete bool
	// Ranges has where the blocks lie, by the shares of the listing.
	Ranges []event.HeldRange
}

// Placed is a block with its owners.
type Placed struct {
	Block
	Owners uint64
}

// placedPage has the smaller blocks that begin in a page: their owners, and how many there are.
type placedPage struct {
	owners uint64
	count  int
}

// Small returns the owners of the smaller blocks that begin in a page of 4 KiB, by its number, and how many there are.
func (p *Places) Small(page uint64) (owners uint64, count int) {
	one := p.small[page]
	return one.owners, one.count
}

// Bounds of places.
const (
	leastPlaced    = 4 << 10
	maxPlacedPages = 1 << 21
	maxPlacedLarge = 1 << 20
	placingBytes   = 1 << 30 // read
)

// placer finds the places of the blocks of nodes. It reads these anew: a walk keeps sizes only.
type placer struct {
	*lister
	sharing *sharing
	crowd   *crowd
	out     Places
	blocks  []Placed // for the ranges
	mask    uint64   // of the node at work
	page    uint64   // the last, and what is known of it
	last    placedPage
	until   time.Duration
	steps   int
}

// findPlaces finds out where the blocks are that a listing's owners hold, in so much time of the processor.
func findPlaces(l *lister, s *sharing, crowd *crowd, shares []event.Share, most time.Duration) *Places {
	p := &placer{lister: l, sharing: s, crowd: crowd, until: ProcessorTime() + most,
		out: Places{small: map[uint64]placedPage{}, Complete: true}}
	l.mem.sets = keptPages / ways
	l.mem.limit, l.mem.err = l.mem.total+placingBytes, nil
	l.sizes.placed = p.piece
	defer func() {
		l.sizes.placed = nil
		l.mem.few()
		l.mem.limit, l.mem.err = l.mem.total+pathBytes, nil
	}()
	for v := range int32(s.nodes) {
		if m := s.masks.of[v]; s.goes(v) && m != crowdedMask && (v < crowd.first || v >= crowd.end) {
			p.mask = s.masks.bits[m]
			p.node(v)
		}
		if p.over() {
			p.out.Complete = false
			break
		}
	}
	p.turn(0)
	p.maps()
	p.out.Ranges = rangesOf(p.blocks, shares)
	slices.SortFunc(p.out.Large, func(a, b Placed) int { return cmp.Compare(a.Address, b.Address) })
	p.out.Large = apart(p.out.Large)
	return &p.out
}

// apart leaves out blocks that begin in the one before.
func apart(all []Placed) []Placed {
	out := all[:0]
	for _, b := range all {
		if n := len(out); n == 0 || out[n-1].Address+out[n-1].Size <= b.Address {
			out = append(out, b)
		}
	}
	return out
}

// over reports whether time or room is over.
func (p *placer) over() bool {
	if p.steps++; p.steps%stepsToLook == 0 && (ProcessorTime() > p.until || p.ctx.Err() != nil) {
		return true
	}
	return p.mem.err != nil || len(p.out.small) > maxPlacedPages || len(p.out.Large) > maxPlacedLarge
}

// piece takes in a block.
func (p *placer) piece(addr, size uint64) {
	p.ranged(addr, size)
	switch {
	case size == 0:
	case size >= leastPlaced:
		p.out.Large = append(p.out.Large, Placed{Block{addr, size}, p.mask})
	default:
		p.turn(addr / pageSize)
		p.last.owners |= p.mask
		p.last.count++
	}
}

// turn goes on to a page.
func (p *placer) turn(page uint64) {
	if page == p.page {
		return
	}
	if p.page != 0 {
		p.out.small[p.page] = p.last
	}
	p.page, p.last = page, p.out.small[page]
}

// node takes in an object's own blocks, and those of the leaves that are a part of it.
func (p *placer) node(v int32) {
	e, addr := p.extents, p.addrs[v]
	if data := e.data[v]; data != 0 {
		p.ranged(data, e.device[v])
		p.piece(data, cmp.Or(e.large[v], e.bytes[v]))
		return
	}
	t := p.objectType(addr)
	if t == nil {
		return
	}
	p.measure(addr, t)
	if t.shape != shapeLeaf {
		p.leaves(addr, t)
	}
}

// leaves takes in the leaves that an object refers to.
func (p *placer) leaves(addr uint64, t *typ) {
	each := func(_, item uint64) bool { p.leaf(item); return !p.over() }
	switch t.shape {
	case shapeDict:
		p.entries(addr, func(key, value uint64) bool { p.leaf(key); return each(0, value) })
	case shapeList:
		items, count := p.mem.word(addr+uint64(p.heap.ListItems)), p.mem.word(addr+uint64(p.heap.ListSize))
		p.mem.words(items, min(count, maxEntries), each)
	case shapeTuple:
		p.mem.words(addr+uint64(p.heap.TupleItems), min(p.mem.word(addr+uint64(p.heap.VarSize)), maxEntries), each)
	case shapeSet:
		mask := min(p.mem.word(addr+cpython.SetMask), maxEntries)
		p.mem.words(p.mem.word(addr+cpython.SetTable), 2*mask+2, func(i, word uint64) bool {
			return i&1 != 0 || each(i, word)
		})
	case shapeArray:
		const data, base = 16, 48
		p.mem.words(p.mem.word(addr+data), ndarray{p.mem, addr}.objects(), each)
		p.leaf(p.mem.word(addr + base)) // the bytes that an unpickled array is a view of
	}
	if dict, values := p.attributesAt(addr, t); dict == 0 && values != 0 { // a dict is an object of its own
		p.inlineAttributes(t, values, func(_, value uint64) bool { return each(0, value) })
	}
	if end := min(t.basic, maxBasic); t.shape != shapeArray && t.own+8 <= end {
		p.mem.words(addr+t.own, (end-t.own)/8, each)
	}
}

// leaf takes in a leaf: one that only this object has, or one that only owners' objects have.
func (p *placer) leaf(addr uint64) {
	if addr < lowestAddress || addr&7 != 0 {
		return
	}
	t := p.objectType(addr)
	if t == nil || t.shape != shapeLeaf {
		return
	}
	if p.references(addr) == 1 {
		p.measure(addr, t)
		return
	}
	n, known := p.crowd.index.get(addr, p.crowd.addrs)
	if !known || p.crowd.all[n].left != 0 {
		return
	}
	v := p.crowd.sets[p.crowd.all[n].set].whole
	p.crowd.all[n].left = 1 // once is enough
	if v <= 0 || !p.sharing.goes(v) || p.sharing.masks.of[v] == crowdedMask {
		return
	}
	before := p.mask
	p.mask = p.sharing.masks.bits[p.sharing.masks.of[v]]
	p.measure(addr, t)
	p.mask = before
}
