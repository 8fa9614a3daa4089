package stacks

import (
	"github.com/google/btree"

	"ipytracer/event"
)

// Ranges are the address ranges of one process that cpu.mapped counts and that were seen to be mapped. They do not
// overlap. Unlike a block of an allocator, memory that was mapped at once may be unmapped in pieces, and in one call
// with its neighbours.
//
// M is what is known of the code that mapped a piece.
type Ranges[M comparable] struct {
	Tree *btree.BTreeG[Piece[M]]
}

// Piece is the address range [start, end).
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

// Move makes the range of a change one piece that counts, or removes it, and returns the pieces that were there. count
// is the number of pieces of all processes; dropped counts the pieces above the limit, most.
func (r *Ranges[M]) Move(c *event.Change, by M, count, dropped *int, most int) (gone []Piece[M], made bool) {
	end := c.Address + uint64(max(c.Size, -c.Size))
	if end < c.Address { // beyond all memory: the arguments of a call that cannot have happened
		return nil, false
	}
	*count -= r.Tree.Len()
	gone = r.cut(c.Address, end)
	made = c.Size > 0
	if made && *count+r.Tree.Len() >= most {
		*dropped++
		made = false
	}
	if made {
		r.add(Piece[M]{c.Address, end, by})
	}
	*count += r.Tree.Len()
	return gone, made
}

// At returns the maker of an address. It works on nil ranges, which have none.
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

// RangesOf returns the ranges of a process.
func RangesOf[M comparable](all map[int32]*Ranges[M], pid int32) *Ranges[M] {
	if all[pid] == nil {
		all[pid] = newRanges[M]()
	}
	return all[pid]
}
