package resident

import (
	"cmp"
	"iter"
	"slices"
)

// Block is a piece of memory that a process frees once all its owners have released it. Owners is a set of owners, one
// bit each; 0 stands for memory that stays. Size is in bytes and includes malloc's head.
type Block struct{ Address, Size, Owners uint64 }

// Freed has the blocks that a process may free. [Explain] finds out by how much its resident memory would fall.
type Freed struct {
	Large []Block // blocks of at least LeastLarge bytes, by address; they do not overlap
	// Small returns, for page number page of SmallPage bytes, the owners of the smaller blocks that begin there, and
	// the number of these blocks.
	Small func(page uint64) (owners uint64, count int)
	Maps  []Block // memory maps in whole pages, by address
}

// Sizes in bytes for [Freed].
const (
	LeastLarge = 4 << 10
	SmallPage  = 4 << 10
)

// Falls says by how much resident memory falls if owners release their blocks. The keys of its maps are sets of owners.
// The bytes under a key are free once all owners in that set have released their blocks. So the memory that some owners
// free together is the sum over all keys that are subsets of these owners.
type Falls struct {
	// AtOnce has the memory that goes back to Linux at once: blocks with mappings of their own, and Python's arenas.
	AtOnce map[uint64]uint64
	// Trims has whole pages of malloc's heaps, which malloc_trim(0) gives back. Pages that are free now are in
	// [Account.Trim].
	Trims map[uint64]uint64
	// May has whole pages at the ends of heaps of other arenas than the main one. The C library returns them when a
	// block is freed that joins so much memory to the top that it trims it (heap_trim in malloc/arena.c), which depends
	// on the order.
	May map[uint64]uint64
	// Resident has the resident bytes of each large block, in the order of Freed.Large.
	Resident []uint64
	// Maps has the resident bytes of memory maps, by owners and by their kind in the account. They are also in AtOnce.
	Maps map[uint64]map[Kind]uint64
}

// falling computes [Falls].
type falling struct {
	of     *Freed
	falls  Falls
	arenas map[uint32]*arena
	placed []bool // by index of a large block: it was found in a heap of malloc's, or in a mapping of its own
}

// arena is an arena of Python's allocator. Python frees it with its last block.
type arena struct {
	owners, bytes uint64
	stays         bool // some block has no owner
}

// newFalling returns nil if of is nil.
func newFalling(of *Freed) *falling {
	if of == nil {
		return nil
	}
	return &falling{of: of, arenas: map[uint32]*arena{}, placed: make([]bool, len(of.Large)), falls: Falls{
		AtOnce: map[uint64]uint64{}, Trims: map[uint64]uint64{}, May: map[uint64]uint64{},
		Resident: make([]uint64, len(of.Large)),
		Maps:     map[uint64]map[Kind]uint64{},
	}}
}

// from returns the index of the first large block that begins at an address or behind it.
func (f *falling) from(addr uint64) int {
	i, _ := slices.BinarySearchFunc(f.of.Large, addr, func(b Block, addr uint64) int {
		return cmp.Compare(b.Address, addr)
	})
	return i
}

// in yields the large blocks that have a byte in [start, end), with their indices.
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

// ownerOf returns the owners of the large block in a chunk of malloc's, or 0 if there is none.
func (f *falling) ownerOf(start, end uint64) uint64 {
	i := f.from(start)
	if i == len(f.of.Large) {
		return 0
	}
	b := f.of.Large[i]
	if b.Address >= end || b.Address+b.Size > end+chunkHead { // Size includes the head
		return 0
	}
	return b.Owners
}

// residentBlocks adds up the resident bytes of the large blocks in a loaded mapping. A block may extend over several
// mappings.
func (x *explainer) residentBlocks(m mapping) {
	if f := x.falling; f != nil {
		for i, b := range f.in(m.start, m.end) {
			f.falls.Resident[i] += x.residentIn(span{max(b.Address, m.start), min(b.Address+b.Size, m.end)})
		}
	}
}

// heapBlocks notes that the large blocks in a mapping are in a heap of malloc's.
func (x *explainer) heapBlocks(m mapping) {
	if f := x.falling; f != nil {
		for i := range f.in(m.start, m.end) {
			f.placed[i] = true
		}
	}
}

// mappedBlocks adds large blocks for which malloc has made mappings of their own. Their heads are freed, too.
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

// leastMapped is the least size in bytes of a block of an unknown allocator that counts as having a mapping of its own.
const leastMapped = 64 << 10

// pooled adds a pool of Python's at an address to its arena. count is the number of its blocks in use.
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

// end returns the result, or nil for a nil falling.
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

// chunkPages finds the pages of a heap that owners would free. All memory in such a page is free, or has owners. Chunks
// are added in order of address.
type chunkPages struct {
	*explainer
	sum   map[uint64]uint64 // by owners: bytes of pages that malloc_trim would give back
	run   map[uint64]uint64 // by owners: bytes of pages since the last page that stays
	page  uint64            // the address of the present page
	is    pageState         // of the present page
	spill bool              // the last small block of the present page extends into the next page
}

// pageState is what chunkPages knows about a page.
type pageState struct {
	owners uint64
	stays  bool // some block in the page has no owner
	small  int  // the number of small blocks that begin in the page
}

func (x *explainer) newChunkPages(m mapping, first uint64) *chunkPages {
	if x.falling == nil {
		return nil
	}
	return &chunkPages{explainer: x, sum: map[uint64]uint64{}, run: map[uint64]uint64{},
		page: first &^ (x.reader.page - 1), is: pageState{stays: first != m.start}}
}

// take adds the next chunk. A nil chunkPages does nothing.
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

// reach ends the present page, and makes another one the present page.
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

// smallIn returns the owners and the number of the small blocks in a page of the machine's, which may have several
// pages of SmallPage bytes.
func (c *chunkPages) smallIn(page uint64) (owners uint64, count int) {
	for at := page / SmallPage; at < (page+c.reader.page)/SmallPage; at++ {
		pageOwners, n := c.falling.of.Small(at)
		owners |= pageOwners
		count += n
	}
	return owners, count
}

// add adds pages with the same state.
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

// settle adds the pages since the last one that stays to those that malloc_trim would give back.
func (c *chunkPages) settle() {
	for owners, n := range c.run {
		c.sum[owners] += n
	}
	clear(c.run)
}

// end adds the last page of a heap. trimmed is false for the last heap of an arena other than the main one: malloc_trim
// does not trim its top, nor free memory that malloc joins to the top.
func (c *chunkPages) end(trimmed bool) {
	if c == nil {
		return
	}
	c.reach(c.page + c.reader.page)
	if trimmed {
		c.settle()
	}
}

// trims adds the pages of a heap to the result.
func (x *explainer) trims(c *chunkPages) {
	if c == nil {
		return
	}
	for owners, n := range c.sum {
		x.falling.falls.Trims[owners] += n
	}
	for owners, n := range c.run {
		x.falling.falls.May[owners] += n
	}
}
