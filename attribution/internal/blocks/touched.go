package blocks

import (
	"github.com/google/btree"

	"ipytracer/attribution/internal/stacks"
	"ipytracer/event"
)

// Of resident memory, samples of touched pages are streamed (see [event.Change.IsTouch]). They live until the system
// call that gives their addresses back. Where mremap moves pages, the samples move along. The peak is where the meter's
// value is highest: the other pages are not streamed.

// touches are the samples that are resident, by process.
type touches struct {
	of    map[int32]*touchedPages
	count int
}

// touchedPage is a sample, with the bytes that it stands for.
type touchedPage struct {
	address uint64
	block   stacks.Block
}

// touchedPages are the samples of a process.
type touchedPages struct {
	tree  *btree.BTreeG[touchedPage]
	large *btree.BTreeG[touchedPage] // live blocks of leastLarge and more
	value event.Bytes                // of the meter, behind the last sample
	// remapped has, by thread, the samples that its mremap takes away. They still count: they are somewhere.
	remapped map[int32]remapped
}

type remapped struct {
	from  uint64
	pages []touchedPage
}

// maxRemapped bounds the threads that are in a call of mremap at the same time.
const maxRemapped = 1 << 10

// has reports whether a process has had samples.
func (t *touches) has(pid int32) bool { return t.of[pid] != nil }

// touch adds a sample. It returns those that were at its address; hasRoom is false where there is no room.
func (t *touches) touch(pid int32, page touchedPage, room int) (gone []touchedPage, hasRoom bool) {
	pages := t.of[pid]
	if pages == nil {
		if t.of == nil {
			t.of = map[int32]*touchedPages{}
		}
		byAddress := func(x, y touchedPage) bool { return x.address < y.address }
		pages = &touchedPages{
			tree: btree.NewG(32, byAddress), large: btree.NewG(32, byAddress), remapped: map[int32]remapped{},
		}
		t.of[pid] = pages
	}
	gone = pages.cut(page.address, page.address+1)
	t.count -= len(gone)
	if t.count >= room {
		return gone, false
	}
	t.count++
	pages.tree.ReplaceOrInsert(page)
	return gone, true
}

// give removes the samples of a range that a process gives back, and returns them.
func (t *touches) give(c *event.Change) (gone []touchedPage) {
	if pages := t.of[c.PID]; pages != nil {
		gone = pages.cut(c.Address, c.Address+uint64(max(c.Size, -c.Size)))
		t.count -= len(gone)
	}
	return gone
}

// remap moves samples with a range of cpu.mapped that mremap has moved: first it is taken away, then it is somewhere.
// It returns the samples that are nowhere.
func (t *touches) remap(c *event.Change) (gone []touchedPage) {
	if pages := t.of[c.PID]; pages != nil {
		gone = pages.remap(c)
		t.count -= len(gone)
	}
	return gone
}

// leastLarge is the size of the smallest blocks that are found by an address within them.
const leastLarge = 64 << 10

// keep notes a large block, or that there is none any more at its address.
func (t *touchedPages) keep(address uint64, block stacks.Block, room int) {
	if block.Size < leastLarge || t.large.Len() >= room {
		t.large.Delete(touchedPage{address: address})
		return
	}
	t.large.ReplaceOrInsert(touchedPage{address, block})
}

// lineAt returns the stack that allocated the large block at an address; 0: there is none.
func (t *touchedPages) lineAt(address uint64) (stack uint64) {
	t.large.DescendLessOrEqual(touchedPage{address: address}, func(b touchedPage) bool {
		if address-b.address < uint64(b.block.Size) {
			stack = b.block.Stack
		}
		return false
	})
	return stack
}

// follow notes the meter's value behind a change, by which samples have gone.
func (t *touches) follow(c *event.Change, gone []touchedPage) {
	pages := t.of[c.PID]
	if pages == nil {
		return
	}
	for _, p := range gone {
		pages.value -= p.block.Size
	}
	if c.Meter == event.Resident {
		pages.value = c.Value
	}
}

// end removes the samples of a process that has ended, or has executed another program.
func (t *touches) end(pid int32) {
	if pages := t.of[pid]; pages != nil {
		t.count -= pages.tree.Len()
		for _, moved := range pages.remapped {
			t.count -= len(moved.pages)
		}
		delete(t.of, pid)
	}
}

// within returns the samples of [start, end), in order of address.
func (t *touchedPages) within(start, end uint64) (found []touchedPage) {
	t.tree.AscendRange(touchedPage{address: start}, touchedPage{address: end}, func(p touchedPage) bool {
		found = append(found, p)
		return true
	})
	return found
}

// cut removes the samples of [start, end) and returns them, in order of address.
func (t *touchedPages) cut(start, end uint64) (gone []touchedPage) {
	gone = t.within(start, end)
	for _, p := range gone {
		t.tree.Delete(p)
	}
	return gone
}

func (t *touchedPages) remap(c *event.Change) (gone []touchedPage) {
	moved := t.remapped[c.TID]
	delete(t.remapped, c.TID)
	if c.Size < 0 {
		gone = moved.pages // their new place was not seen
		taken := t.cut(c.Address, c.Address+uint64(-c.Size))
		if len(taken) == 0 {
			return gone
		}
		if len(t.remapped) >= maxRemapped {
			return append(gone, taken...)
		}
		t.remapped[c.TID] = remapped{c.Address, taken}
		return gone
	}
	gone = t.cut(c.Address, c.Address+uint64(c.Size))
	for i, p := range moved.pages {
		by := p.address - moved.from
		if by >= uint64(c.Size) {
			return append(gone, moved.pages[i:]...) // the range has shrunk
		}
		p.address = c.Address + by
		t.tree.ReplaceOrInsert(p)
	}
	return gone
}

// copies are the bytes that processes have copied since a fork, by the stack that made what they copied; 0 where that
// is not known.
type copies struct {
	of    map[int32]map[uint64]event.Bytes
	count int // pairs of a process and a stack
}

// maxCopies bounds the pairs of a process and a stack. What has no place counts as not known, and of a process without
// any pair not at all.
const maxCopies = 1 << 14

func (c *copies) add(pid int32, stack uint64, bytes event.Bytes) {
	by := c.of[pid]
	if _, known := by[stack]; !known {
		if c.count >= maxCopies {
			if by == nil {
				return
			}
			stack = 0
		}
		c.count++
	}
	if by == nil {
		if c.of == nil {
			c.of = map[int32]map[uint64]event.Bytes{}
		}
		by = map[uint64]event.Bytes{}
		c.of[pid] = by
	}
	by[stack] += bytes
}
