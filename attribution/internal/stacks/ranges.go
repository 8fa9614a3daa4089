package stacks

import (
	"github.com/google/btree"

	"ipytracer/event"
)

// Ranges are the address ranges of one process that were seen to be mapped and that cpu.mapped counts. They do not
// overlap. Unlike a block of an allocator, a mapping may be unmapped in pieces, and together with its neighbours.
//
// M describes the code that mapped a range.
type Ranges[M comparable] struct {
	Tree *btree.BTreeG[Piece[M]]
}

// Piece is the address range [Start, End) that one maker mapped.
type Piece[M comparable] struct {
	Start, End uint64
	Maker      M
}

func newRanges[M comparable]() *Ranges[M] {
	return &Ranges[M]{btree.NewG(32, func(x, y Piece[M]) bool { return x.Start < y.Start })}
}

// Size returns the bytes of a piece.
func (p Piece[M]) Size() event.Bytes { return event.Bytes(p.End - p.Start) }

// cut removes [start, end) and returns the pieces that were there, in order of address.
func (r *Ranges[M]) cut(start, end uint64) (gone []Piece[M]) {
	var found []Piece[M]
	r.Tree.DescendLessOrEqual(Piece[M]{Start: start}, func(p Piece[M]) bool { // the piece that reaches in from below
		if p.Start < start && p.End > start {
			found = append(found, p)
		}
		return p.Start == start
	})
	r.Tree.AscendRange(Piece[M]{Start: start}, Piece[M]{Start: end}, func(p Piece[M]) bool {
		found = append(found, p)
		return true
	})
	for _, p := range found {
		r.Tree.Delete(p)
		if p.Start < start {
			r.Tree.ReplaceOrInsert(Piece[M]{p.Start, start, p.Maker})
		}
		if p.End > end {
			r.Tree.ReplaceOrInsert(Piece[M]{end, p.End, p.Maker})
		}
		gone = append(gone, Piece[M]{max(p.Start, start), min(p.End, end), p.Maker})
	}
	return gone
}

// add adds a piece where there is none. Neighbours of the same maker become one: a heap grows page by page.
func (r *Ranges[M]) add(p Piece[M]) {
	r.Tree.DescendLessOrEqual(p, func(below Piece[M]) bool {
		if below.End == p.Start && below.Maker == p.Maker {
			r.Tree.Delete(below)
			p.Start = below.Start
		}
		return false
	})
	if above, ok := r.Tree.Get(Piece[M]{Start: p.End}); ok && above.Maker == p.Maker {
		r.Tree.Delete(above)
		p.End = above.End
	}
	r.Tree.ReplaceOrInsert(p)
}

// Move adds the range of a change as one piece, or removes the range if the change's size is negative. It returns the
// pieces that were in the range before. made reports whether a piece was added. count is the number of pieces of all
// processes. If it has reached limit, the piece is not added, and counts in dropped.
func (r *Ranges[M]) Move(c *event.Change, maker M, count, dropped *int, limit int) (gone []Piece[M], made bool) {
	end := c.Address + uint64(max(c.Size, -c.Size))
	if end < c.Address { // an overflow: no such call can have succeeded
		return nil, false
	}
	*count -= r.Tree.Len()
	gone = r.cut(c.Address, end)
	made = c.Size > 0
	if made && *count+r.Tree.Len() >= limit {
		*dropped++
		made = false
	}
	if made {
		r.add(Piece[M]{c.Address, end, maker})
	}
	*count += r.Tree.Len()
	return gone, made
}

// At returns the maker of the piece at an address; ok is false if there is none. r may be nil.
func (r *Ranges[M]) At(address uint64) (maker M, ok bool) {
	if r == nil {
		return maker, false
	}
	r.Tree.DescendLessOrEqual(Piece[M]{Start: address}, func(p Piece[M]) bool {
		maker, ok = p.Maker, address < p.End
		return false
	})
	return maker, ok
}

// Each calls do for each piece, in order of address.
func (r *Ranges[M]) Each(do func(p Piece[M])) {
	r.Tree.Ascend(func(p Piece[M]) bool {
		do(p)
		return true
	})
}

// Last returns the piece with the highest start up to an address.
func (r *Ranges[M]) Last(address uint64) (last Piece[M], ok bool) {
	r.Tree.DescendLessOrEqual(Piece[M]{Start: address}, func(p Piece[M]) bool {
		last, ok = p, true
		return false
	})
	return last, ok
}

// Len returns the number of pieces.
func (r *Ranges[M]) Len() int { return r.Tree.Len() }

// RangesOf returns the ranges of a process, and adds empty ones to all if it has none.
func RangesOf[M comparable](all map[int32]*Ranges[M], pid int32) *Ranges[M] {
	if all[pid] == nil {
		all[pid] = newRanges[M]()
	}
	return all[pid]
}
