package blocks

import (
	"github.com/google/btree"

	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/stacks"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
)

// Of resident memory, samples of touched pages are streamed (see [event.Change.IsTouch]). They live until the system
// call that gives their addresses back. Where mremap moves pages, the samples move along. As all pages are not streamed,
// the peak is where the meter's value is highest.

// touchedPage is a sample, with the bytes that it stands for.
type touchedPage struct {
	address uint64
	block   stacks.Block
}

// touchedPages are the samples of a process that are resident.
type touchedPages struct {
	tree *btree.BTreeG[touchedPage]
	// remapped has, by thread, the samples that its mremap takes away. They still count: they are somewhere.
	remapped map[int32]remapped
}

type remapped struct {
	from  uint64
	pages []touchedPage
}

// maxRemapped bounds the threads that are in a call of mremap at the same time.
const maxRemapped = 1 << 10

func (a *Blocks) touchedBy(pid int32) *touchedPages {
	pages := a.touched[pid]
	if pages == nil {
		if a.touched == nil {
			a.touched = map[int32]*touchedPages{}
		}
		pages = &touchedPages{
			tree:     btree.NewG(32, func(x, y touchedPage) bool { return x.address < y.address }),
			remapped: map[int32]remapped{},
		}
		a.touched[pid] = pages
	}
	return pages
}

// cut removes the samples of [start, end) and returns them, in order of address.
func (t *touchedPages) cut(start, end uint64) (gone []touchedPage) {
	t.tree.AscendRange(touchedPage{address: start}, touchedPage{address: end}, func(p touchedPage) bool {
		gone = append(gone, p)
		return true
	})
	for _, p := range gone {
		t.tree.Delete(p)
	}
	return gone
}

// moveTouched takes in pages that became resident, or ceased to be.
func (a *Blocks) moveTouched(r *windows.Tree, c *event.Change) {
	key, pages, cs := course.Key{PID: c.PID, Meter: c.Meter}, a.touchedBy(c.PID), a.affectedBy(r, c)
	if !c.Sample {
		a.untouch(cs, key, pages.cut(c.Address, c.Address+uint64(max(c.Size, -c.Size))))
		return
	}
	before := pages.cut(c.Address, c.Address+1)
	if a.Pieces-len(before) >= a.Stacks.Room.Blocks {
		a.untouch(cs, key, before)
		a.Holdings.Dropped++
		a.Flow.Drop(key, c.Represents())
		return
	}
	a.Pieces++
	page := touchedPage{address: c.Address, block: a.sampled(c)}
	pages.tree.ReplaceOrInsert(page)
	a.followValue(cs, key, c)
	a.untouch(cs, key, before)
	cs.times = timesOf(c)
	a.replace(cs, key, stacks.Block{}, page.block)
	cs.recordValue(key.Meter, c.Value)
}

// untouch takes in that samples are not resident any more.
func (a *Blocks) untouch(cs affected, key course.Key, gone []touchedPage) {
	a.Pieces -= len(gone)
	for _, p := range gone {
		a.replace(cs, key, p.block, stacks.Block{})
	}
}

// moveResidentFall takes in a value from which resident memory fell.
func (a *Blocks) moveResidentFall(r *windows.Tree, c *event.Change) {
	a.recordFall(c)
	if a.touched[c.PID] == nil {
		return
	}
	key, cs := course.Key{PID: c.PID, Meter: c.Meter}, a.affectedBy(r, c)
	a.followValue(cs, key, c)
	cs.recordValue(key.Meter, c.Value)
}

// remap moves samples with a range of cpu.mapped that mremap has moved: first it is taken away, then it is somewhere.
func (a *Blocks) remap(r *windows.Tree, c *event.Change) {
	pages := a.touched[c.PID]
	if pages == nil {
		return
	}
	key, cs := course.Key{PID: c.PID, Meter: event.Resident}, a.affectedBy(r, c)
	moved := pages.remapped[c.TID]
	delete(pages.remapped, c.TID)
	if c.Size < 0 {
		a.untouch(cs, key, moved.pages) // their new place was not seen
		taken := pages.cut(c.Address, c.Address+uint64(-c.Size))
		if len(taken) > 0 && len(pages.remapped) < maxRemapped {
			pages.remapped[c.TID] = remapped{c.Address, taken}
		} else {
			a.untouch(cs, key, taken)
		}
		return
	}
	a.untouch(cs, key, pages.cut(c.Address, c.Address+uint64(c.Size)))
	for i, p := range moved.pages {
		by := p.address - moved.from
		if by >= uint64(c.Size) {
			a.untouch(cs, key, moved.pages[i:]) // the range has shrunk
			return
		}
		p.address = c.Address + by
		pages.tree.ReplaceOrInsert(p)
	}
}

// endTouched drops the samples of a process that has ended, or has executed another program.
func (a *Blocks) endTouched(pid int32) {
	pages := a.touched[pid]
	if pages == nil {
		return
	}
	a.Pieces -= pages.tree.Len()
	for _, moved := range pages.remapped {
		a.Pieces -= len(moved.pages)
	}
	delete(a.touched, pid)
	a.drop(course.Key{PID: pid, Meter: event.Resident})
}
