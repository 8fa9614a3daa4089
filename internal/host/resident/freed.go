package resident

import (
	"iter"
	"slices"
)

// Block is a piece of memory that a process would free once all of its owners have let go of it. Owners are bits of a
// word; 0 stands for none. Size is as malloc takes it: with its head.
type Block struct{ Address, Size, Owners uint64 }

// Freed has the blocks that a process would free, so that [Explain] can say what resident memory would fall by.
type Freed struct {
	Large []Block // of LeastLarge bytes and more, by address; they do not overlap
	// Small returns the owners of the smaller blocks that begin in a page of SmallPage bytes, by its number, and how
	// many begin there.
	Small func(page uint64) (owners uint64, count int)
	// Maps are memory maps, likewise, in whole pages: they go with all that is in memory of them.
	Maps []Block
}

// Bounds of blocks that [Freed] has one by one, and of the pages of the others.
const (
	LeastLarge = 4 << 10
	SmallPage  = 4 << 10
)

// Falls is by how much resident memory falls with blocks that are freed. Each map has bytes that go once exactly these
// owners have let go: sets of owners that are a part of others count there as well.
type Falls struct {
	// AtOnce has blocks that malloc or somebody else mapped one by one, and Python's arenas.
	AtOnce map[uint64]uint64
	// Trims has whole pages of malloc's heaps, which malloc_trim(0) gives back. Pages that were free before are in
	// [Account.Trim].
	Trims map[uint64]uint64
	// Resident has, for each of the large blocks in their order, the part that is in memory.
	Resident []uint64
	// Maps has the resident bytes of memory maps, by their owners and by the kind that they count as in the account.
	// They are in AtOnce, too.
	Maps map[uint64]map[Kind]uint64
}

// falling finds out what falls.
type falling struct {
	of     *Freed
	falls  Falls
	arenas map[uint32]*arena
	placed []bool // of the large blocks: malloc has it in a heap, or as a mapping
}

// arena is an arena of Python's allocator: Python frees it with its last block.
type arena struct {
	owners, bytes uint64
	stays         bool
}

func newFalling(of *Freed) *falling {
	if of == nil {
		return nil
	}
	return &falling{of: of, arenas: map[uint32]*arena{}, placed: make([]bool, len(of.Large)), falls: Falls{
		AtOnce: map[uint64]uint64{}, Trims: map[uint64]uint64{}, Resident: make([]uint64, len(of.Large)),
		Maps: map[uint64]map[Kind]uint64{},
	}}
}

// from returns the index of the first large block at an address or behind it.
func (f *falling) from(addr uint64) int {
	i, _ := slices.BinarySearchFunc(f.of.Large, addr, func(b Block, addr uint64) int {
		switch {
		case b.Address < addr:
			return -1
		case b.Address > addr:
			return 1
		}
		return 0
	})
	return i
}

// in yields the large blocks that lie in a mapping, or have a part there.
func (f *falling) in(start, end uint64) iter.Seq2[int, Block] {
	return func(yield func(int, Block) bool) {
		i := f.from(start)
		if i > 0 && f.of.Large[i-1].Address+f.of.Large[i-1].Size > start {
			i--
		}
		for ; i < len(f.of.Large) && f.of.Large[i].Address < end && yield(i, f.of.Large[i]); i++ {
		}
	}
}

// ownerOf returns the owners of the large block that a piece of malloc's memory has, 0 for none.
func (f *falling) ownerOf(start, end uint64) uint64 {
	i := f.from(start)
	if i == len(f.of.Large) {
		return 0
	}
	b := f.of.Large[i]
	if b.Address >= end || b.Address+b.Size > end+chunkHead { // its size counts the head
		return 0
	}
	return b.Owners
}

// residentBlocks finds out which part of the large blocks is in memory, of a mapping that has been loaded. The kernel
// may have several mappings of one block.
func (x *explainer) residentBlocks(m mapping) {
	if f := x.falling; f != nil {
		for i, b := range f.in(m.start, m.end) {
			f.falls.Resident[i] += x.residentIn(span{max(b.Address, m.start), min(b.Address+b.Size, m.end)})
		}
	}
}

// heapBlocks notes that the large blocks of a mapping lie in a heap: of what was tried as one, nothing is kept.
func (x *explainer) heapBlocks(m mapping) {
	if f := x.falling; f != nil {
		for i := range f.in(m.start, m.end) {
			f.placed[i] = true
		}
	}
}

// mappedBlocks takes in blocks that malloc mapped by themselves: they go with their heads.
func (x *explainer) mappedBlocks(big []span) {
	f := x.falling
	if f == nil {
		return
	}
	for _, s := range big {
		if owners := f.ownerOf(s.start, s.end); owners != 0 {
			f.falls.AtOnce[owners] += x.residentIn(s)
			f.placed[f.from(s.start)] = true
		}
	}
}

// leastMapped is the least size of a block that counts as mapped by itself where its allocator is not known.
const leastMapped = 64 << 10

// pooled takes in a pool of Python's with so many blocks in use, of an arena by its number.
func (x *explainer) pooled(at, size uint64, count int, number uint32) {
	f := x.falling
	if f == nil {
		return
	}
	a := f.arenas[number]
	if a == nil {
		a = &arena{}
		f.arenas[number] = a
	}
	a.bytes += x.residentIn(span{at, at + size})
	known := 0
	for page := at / SmallPage; page < (at+size)/SmallPage && count > 0; page++ {
		owners, n := f.of.Small(page)
		a.owners |= owners
		known += n
	}
	a.stays = a.stays || known != count && count > 0
}

// end returns what falls.
func (f *falling) end() *Falls {
	if f == nil {
		return nil
	}
	for _, a := range f.arenas {
		if !a.stays && a.owners != 0 {
			f.falls.AtOnce[a.owners] += a.bytes
		}
	}
	for i, b := range f.of.Large {
		if !f.placed[i] && b.Size >= leastMapped && b.Owners != 0 {
			f.falls.AtOnce[b.Owners] += f.falls.Resident[i]
		}
	}
	return &f.falls
}

// chunkPages finds the pages of one heap that would be free: all that lies in such a page is free, or has owners.
type chunkPages struct {
	*explainer
	sum   map[uint64]uint64 // bytes of pages, by owners
	run   map[uint64]uint64 // likewise, since the last page that stays
	page  uint64            // the one that chunks are met in
	is    pageState
	spill bool // its last small block reaches into the next
}

// pageState is what is known of a page.
type pageState struct {
	owners uint64
	stays  bool
	small  int // blocks that begin there
}

func (x *explainer) newChunkPages(m mapping, first uint64) *chunkPages {
	if x.falling == nil {
		return nil
	}
	return &chunkPages{explainer: x, sum: map[uint64]uint64{}, run: map[uint64]uint64{},
		page: first &^ (x.reader.page - 1), is: pageState{stays: first != m.start}}
}

// take takes in a chunk.
func (c *chunkPages) take(start, end uint64, free bool) {
	if c == nil {
		return
	}
	size := c.reader.page
	if !free && end-start < LeastLarge {
		c.reach((start + chunkHead) &^ (size - 1))
		c.is.small++
		c.spill = end&^(size-1) > c.page && end&(size-1) != 0
		return
	}
	owners := uint64(0)
	if !free {
		owners = c.falling.ownerOf(start, end)
	}
	state := pageState{owners: owners, stays: !free && owners == 0}
	first, last := start&^(size-1), (end-1)&^(size-1)
	c.reach(first)
	c.is.owners, c.is.stays = c.is.owners|state.owners, c.is.stays || state.stays
	if last > first {
		c.reach(first + size)
		if c.page < last {
			c.add(state, c.page, last)
			c.page = last
		}
		c.is.owners, c.is.stays = c.is.owners|state.owners, c.is.stays || state.stays
	}
}

// reach goes on to a page.
func (c *chunkPages) reach(page uint64) {
	if page <= c.page {
		return
	}
	if c.is.small > 0 {
		owners, count := c.smallIn(c.page)
		c.is.owners |= owners
		c.is.stays = c.is.stays || count != c.is.small
	}
	c.add(c.is, c.page, c.page+c.reader.page)
	next := pageState{}
	if c.spill {
		next = pageState{owners: c.is.owners, stays: c.is.stays}
	}
	c.page, c.is, c.spill = page, next, false
}

// smallIn adds up the small blocks of a page of the machine's.
func (c *chunkPages) smallIn(page uint64) (owners uint64, count int) {
	for at := page / SmallPage; at < (page+c.reader.page)/SmallPage; at++ {
		of, n := c.falling.of.Small(at)
		owners |= of
		count += n
	}
	return owners, count
}

// add takes in pages that are alike.
func (c *chunkPages) add(is pageState, start, end uint64) {
	switch {
	case is.stays:
		c.settle()
	case is.owners != 0:
		if n := c.residentIn(span{start, end}); n > 0 {
			c.run[is.owners] += n
		}
	}
}

// settle takes in the pages since the last one that stays.
func (c *chunkPages) settle() {
	for owners, n := range c.run {
		c.sum[owners] += n
	}
	clear(c.run)
}

// end takes in the end of a heap, where the top may be. The tops of other arenas than the main one are not trimmed, nor
// is what is joined to them.
func (c *chunkPages) end(trimmed bool) {
	if c == nil {
		return
	}
	c.reach(c.page + c.reader.page)
	if trimmed {
		c.settle()
	}
}

// trims takes in a heap.
func (x *explainer) trims(c *chunkPages) {
	if c == nil {
		return
	}
	for owners, n := range c.sum {
		x.falling.falls.Trims[owners] += n
	}
}
