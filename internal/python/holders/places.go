package holders

import (
	"cmp"
	"slices"
	"time"

	"ipytracer/event"
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/objects"
)

// Places has the addresses of the blocks that only owners hold: what the process frees once the owners are let go of.
// Owners are bits, by their index in the listing.
type Places struct {
	Large []Placed              // blocks of leastPlaced bytes and more, by address; they do not overlap
	Maps  []Placed              // memory maps, by address; they do not overlap, and need not be in memory
	small map[uint64]placedPage // smaller blocks, by page
	// Complete is false where time or room was over: some blocks are missing.
	Complete bool
	// Ranges has the same blocks by share, joined where they lie side by side.
	Ranges []event.HeldRange
}

// placedPage has the smaller blocks that begin in a page: their owners, and how many there are.
type placedPage struct {
	owners uint64
	count  int
}

// Small returns the owners of the smaller blocks that begin in a page of 4 KiB, by its number, and how many there are.
func (p *Places) Small(page uint64) (owners uint64, count int) {
	blocks := p.small[page]
	return blocks.owners, blocks.count
}

// Bounds of places.
const (
	leastPlaced    = 4 << 10 // bytes of a large block
	maxPlacedPages = 1 << 21
	maxPlacedLarge = 1 << 20
	placingBytes   = 1 << 30 // bytes that are read
)

// placer finds the places of the blocks of nodes. It reads the objects anew, because the walk kept only sizes.
type placer struct {
	*lister
	sharing *sharing
	crowd   *crowd
	out     Places
	blocks  []Placed      // for the ranges
	mask    uint64        // the owners of the node at work
	page    uint64        // the page of the last small block, 0 for none
	last    placedPage    // the blocks of page, which are not in out.small yet
	until   time.Duration // the ProcessorTime at which the search stops
	steps   int
}

// findPlaces finds out where the blocks lie that a listing's owners hold. It takes at most limit of processor time.
func findPlaces(l *lister, s *sharing, crowd *crowd, shares []event.Share, limit time.Duration) *Places {
	p := &placer{lister: l, sharing: s, crowd: crowd, until: objects.ProcessorTime() + limit,
		out: Places{small: map[uint64]placedPage{}, Complete: true}}
	l.Mem.Sets = objects.KeptPages / objects.Ways
	l.Mem.Limit, l.Mem.Err = l.Mem.Total+placingBytes, nil
	l.Sizes.Placed = p.addBlock
	defer func() {
		l.Sizes.Placed = nil
		l.Mem.KeepFew()
		l.Mem.Limit, l.Mem.Err = l.Mem.Total+objects.PathBytes, nil
	}()
	for v := range int32(s.nodes) {
		set, inCrowd := s.masks.of[v], v >= crowd.first && v < crowd.end
		if s.isFreed(v) && set != crowdedMask && !inCrowd {
			p.mask = s.masks.bits[set]
			p.addNode(v)
		}
		if p.Over() {
			p.out.Complete = false
			break
		}
	}
	p.turnTo(0)
	p.addMaps()
	p.out.Ranges = rangesOf(p.blocks, shares)
	slices.SortFunc(p.out.Large, func(a, b Placed) int { return cmp.Compare(a.Address, b.Address) })
	p.out.Large = withoutOverlaps(p.out.Large)
	return &p.out
}

// Over reports whether time or room is over.
func (p *placer) Over() bool {
	if p.steps++; p.steps%objects.StepsToLook == 0 && (objects.ProcessorTime() > p.until || p.Ctx.Err() != nil) {
		return true
	}
	return p.Mem.Err != nil || len(p.out.small) > maxPlacedPages || len(p.out.Large) > maxPlacedLarge
}

// addBlock notes a block of the node at work.
func (p *placer) addBlock(addr, size uint64) {
	p.addRanged(addr, size)
	switch {
	case size == 0:
	case size >= leastPlaced:
		p.out.Large = append(p.out.Large, Placed{objects.Block{Address: addr, Size: size}, p.mask})
	default:
		p.turnTo(addr / objects.PageSize)
		p.last.owners |= p.mask
		p.last.count++
	}
}

// turnTo stores what is known of the last page, and goes on to another; page 0 ends the search.
func (p *placer) turnTo(page uint64) {
	if page == p.page {
		return
	}
	if p.page != 0 {
		p.out.small[p.page] = p.last
	}
	p.page, p.last = page, p.out.small[page]
}

// addNode notes an object's own blocks, and those of the leaves to which it refers.
func (p *placer) addNode(v int32) {
	e, addr := p.extents, p.Addrs[v]
	if data := e.data[v]; data != 0 {
		p.addRanged(data, e.device[v])
		p.addBlock(data, cmp.Or(e.large[v], e.bytes[v]))
		return
	}
	t := p.ObjectType(addr)
	if t == nil {
		return
	}
	p.Measure(addr, t)
	if t.Shape != objects.ShapeLeaf {
		p.addLeaves(addr, t)
	}
}

// addLeaves notes the blocks of the leaves to which an object refers.
func (p *placer) addLeaves(addr uint64, t *objects.Type) {
	each := func(_, item uint64) bool {
		p.addLeaf(item)
		return !p.Over()
	}
	switch t.Shape {
	case objects.ShapeDict:
		p.Entries(addr, func(key, value uint64) bool {
			p.addLeaf(key)
			return each(0, value)
		})
	case objects.ShapeList:
		items, count := p.Mem.Word(addr+uint64(p.Heap.ListItems)), p.Mem.Word(addr+uint64(p.Heap.ListSize))
		p.Mem.Words(items, min(count, cpython.MaxEntries), each)
	case objects.ShapeTuple:
		count := min(p.Mem.Word(addr+uint64(p.Heap.VarSize)), cpython.MaxEntries)
		p.Mem.Words(addr+uint64(p.Heap.TupleItems), count, each)
	case objects.ShapeSet:
		mask := min(p.Mem.Word(addr+cpython.SetMask), cpython.MaxEntries)
		p.Mem.Words(p.Mem.Word(addr+cpython.SetTable), 2*mask+2, func(i, word uint64) bool {
			return i&1 != 0 || each(i, word)
		})
	case objects.ShapeArray:
		p.Mem.Words(p.Mem.Word(addr+objects.ArrayData), p.ArrayObjects(addr), each)
		p.addLeaf(p.Mem.Word(addr + objects.ArrayBase)) // the bytes that an unpickled array is a view of
	}
	if dict, values := p.AttributesAt(addr, t); dict == 0 && values != 0 { // a dict is an object of its own
		p.InlineAttributes(t, values, func(_, value uint64) bool { return each(0, value) })
	}
	if end := min(t.Basic, objects.MaxBasic); t.Shape != objects.ShapeArray && t.FirstWord+8 <= end {
		p.Mem.Words(addr+t.FirstWord, (end-t.FirstWord)/8, each)
	}
}

// addLeaf notes the blocks of an object, if it is a leaf that only one object has, or only objects of owners.
func (p *placer) addLeaf(addr uint64) {
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
	p.crowd.all[n].left = 1 // so that the leaf is noted once
	v, masks := p.crowd.sets[p.crowd.all[n].set].whole, &p.sharing.masks
	if v <= 0 || !p.sharing.isFreed(v) || masks.of[v] == crowdedMask {
		return
	}
	before := p.mask
	p.mask = masks.bits[masks.of[v]]
	p.Measure(addr, t)
	p.mask = before
}

// addMaps notes the memory maps of nodes that only owners hold.
func (p *placer) addMaps() {
	for v, b := range p.extents.maps {
		if set := p.sharing.masks.of[v]; p.sharing.isFreed(v) && set != crowdedMask {
			p.out.Maps = append(p.out.Maps, Placed{b, p.sharing.masks.bits[set]})
		}
	}
	slices.SortFunc(p.out.Maps, func(a, b Placed) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(b.Size, a.Size), cmp.Compare(a.Owners, b.Owners))
	})
	p.out.Maps = withoutOverlaps(p.out.Maps)
}

// leastRanged is the least size of a block that becomes a range. Meters have smaller blocks only as samples.
const leastRanged = 1 << 10

// addRanged notes a block of the node at work for the ranges, if it is large enough.
func (p *placer) addRanged(addr, size uint64) {
	if size >= leastRanged && p.mask != 0 && len(p.blocks) < maxPlacedLarge {
		p.blocks = append(p.blocks, Placed{objects.Block{Address: addr, Size: size}, p.mask})
	}
}
