package variables

import (
	"cmp"
	"slices"
	"time"

	"ipytracer/event"
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/objects"
)

// Places has where the blocks lie that owners hold and nothing else does: what a process would free when they let go.
// owners are bits, by their index in the listing.
type Places struct {
	Large []Placed // of leastPlaced bytes and more, by address; they do not overlap
	Maps  []Placed // memory maps, likewise: of these only what is in memory counts
	small map[uint64]placedPage
	// Complete is false where time or room was over: some blocks are missing.
	Complete bool
	// Ranges has where the blocks lie, by the shares of the listing.
	Ranges []event.HeldRange
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
	p := &placer{lister: l, sharing: s, crowd: crowd, until: objects.ProcessorTime() + most,
		out: Places{small: map[uint64]placedPage{}, Complete: true}}
	l.Mem.Sets = objects.KeptPages / objects.Ways
	l.Mem.Limit, l.Mem.Err = l.Mem.Total+placingBytes, nil
	l.Sizes.Placed = p.piece
	defer func() {
		l.Sizes.Placed = nil
		l.Mem.KeepFew()
		l.Mem.Limit, l.Mem.Err = l.Mem.Total+objects.PathBytes, nil
	}()
	for v := range int32(s.nodes) {
		if m := s.masks.of[v]; s.isFreed(v) && m != crowdedMask && (v < crowd.first || v >= crowd.end) {
			p.mask = s.masks.bits[m]
			p.node(v)
		}
		if p.Over() {
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

// Over reports whether time or room is over.
func (p *placer) Over() bool {
	if p.steps++; p.steps%objects.StepsToLook == 0 && (objects.ProcessorTime() > p.until || p.Ctx.Err() != nil) {
		return true
	}
	return p.Mem.Err != nil || len(p.out.small) > maxPlacedPages || len(p.out.Large) > maxPlacedLarge
}

// piece takes in a block.
func (p *placer) piece(addr, size uint64) {
	p.ranged(addr, size)
	switch {
	case size == 0:
	case size >= leastPlaced:
		p.out.Large = append(p.out.Large, Placed{objects.Block{Address: addr, Size: size}, p.mask})
	default:
		p.turn(addr / objects.PageSize)
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
	e, addr := p.extents, p.Addrs[v]
	if data := e.data[v]; data != 0 {
		p.ranged(data, e.device[v])
		p.piece(data, cmp.Or(e.large[v], e.bytes[v]))
		return
	}
	t := p.ObjectType(addr)
	if t == nil {
		return
	}
	p.Measure(addr, t)
	if t.Shape != objects.ShapeLeaf {
		p.leaves(addr, t)
	}
}

// leaves takes in the leaves that an object refers to.
func (p *placer) leaves(addr uint64, t *objects.Type) {
	each := func(_, item uint64) bool { p.leaf(item); return !p.Over() }
	switch t.Shape {
	case objects.ShapeDict:
		p.Entries(addr, func(key, value uint64) bool { p.leaf(key); return each(0, value) })
	case objects.ShapeList:
		items, count := p.Mem.Word(addr+uint64(p.Heap.ListItems)), p.Mem.Word(addr+uint64(p.Heap.ListSize))
		p.Mem.Words(items, min(count, cpython.MaxEntries), each)
	case objects.ShapeTuple:
		p.Mem.Words(addr+uint64(p.Heap.TupleItems), min(p.Mem.Word(addr+uint64(p.Heap.VarSize)), cpython.MaxEntries),
			each)
	case objects.ShapeSet:
		mask := min(p.Mem.Word(addr+cpython.SetMask), cpython.MaxEntries)
		p.Mem.Words(p.Mem.Word(addr+cpython.SetTable), 2*mask+2, func(i, word uint64) bool {
			return i&1 != 0 || each(i, word)
		})
	case objects.ShapeArray:
		p.Mem.Words(p.Mem.Word(addr+objects.ArrayData), p.ArrayObjects(addr), each)
		p.leaf(p.Mem.Word(addr + objects.ArrayBase)) // the bytes that an unpickled array is a view of
	}
	if dict, values := p.AttributesAt(addr, t); dict == 0 && values != 0 { // a dict is an object of its own
		p.InlineAttributes(t, values, func(_, value uint64) bool { return each(0, value) })
	}
	if end := min(t.Basic, objects.MaxBasic); t.Shape != objects.ShapeArray && t.FirstWord+8 <= end {
		p.Mem.Words(addr+t.FirstWord, (end-t.FirstWord)/8, each)
	}
}

// leaf takes in a leaf that only this object has, or only objects of owners.
func (p *placer) leaf(addr uint64) {
	if addr < objects.LowestAddress || addr&7 != 0 {
		return
	}
	t := p.ObjectType(addr)
	if t == nil || t.Shape != objects.ShapeLeaf {
		return
	}
	if p.References(addr) == 1 {
		p.Measure(addr, t)
		return
	}
	n, known := p.crowd.index.Get(addr, p.crowd.addrs)
	if !known || p.crowd.all[n].left != 0 {
		return
	}
	v := p.crowd.sets[p.crowd.all[n].set].whole
	p.crowd.all[n].left = 1 // once is enough
	if v <= 0 || !p.sharing.isFreed(v) || p.sharing.masks.of[v] == crowdedMask {
		return
	}
	before := p.mask
	p.mask = p.sharing.masks.bits[p.sharing.masks.of[v]]
	p.Measure(addr, t)
	p.mask = before
}

// maps takes in the memory maps of nodes that only owners hold.
func (p *placer) maps() {
	for v, b := range p.extents.maps {
		if m := p.sharing.masks.of[v]; p.sharing.isFreed(v) && m != crowdedMask {
			p.out.Maps = append(p.out.Maps, Placed{b, p.sharing.masks.bits[m]})
		}
	}
	slices.SortFunc(p.out.Maps, func(a, b Placed) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(b.Size, a.Size), cmp.Compare(a.Owners, b.Owners))
	})
	p.out.Maps = apart(p.out.Maps)
}

// leastRanged is the least size of a block with a range. Meters have smaller ones as samples, if at all.
const leastRanged = 1 << 10

// ranged notes a block of which a listing has the range.
func (p *placer) ranged(addr, size uint64) {
	if size >= leastRanged && p.mask != 0 && len(p.blocks) < maxPlacedLarge {
		p.blocks = append(p.blocks, Placed{objects.Block{Address: addr, Size: size}, p.mask})
	}
}
