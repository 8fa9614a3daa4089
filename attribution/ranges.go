package attribution

import (
	"github.com/google/btree"

	"ipytracer/event"
)

// ranges are the address ranges of one process that cpu.mapped counts and that were seen to be mapped. They do not
// overlap. Unlike a block of an allocator, memory that was mapped at once may be unmapped in pieces, and in one call
// with its neighbours.
//
// M is what is known of the code that mapped a piece.
type ranges[M comparable] struct {
	tree *btree.BTreeG[piece[M]]
}

// piece is the address range [start, end).
type piece[M comparable] struct {
	start, end uint64
	maker      M
}

func newRanges[M comparable]() *ranges[M] {
	return &ranges[M]{btree.NewG(32, func(x, y piece[M]) bool { return x.start < y.start })}
}

func (p piece[M]) size() event.Bytes { return event.Bytes(p.end - p.start) }

// cut removes [start, end) and returns the pieces that were there, in order of address.
func (r *ranges[M]) cut(start, end uint64) (gone []piece[M]) {
	var found []piece[M]
	r.tree.DescendLessOrEqual(piece[M]{start: start}, func(p piece[M]) bool { // the piece that reaches in from below
		if p.start < start && p.end > start {
			found = append(found, p)
		}
		return p.start == start
	})
	r.tree.AscendRange(piece[M]{start: start}, piece[M]{start: end}, func(p piece[M]) bool {
		found = append(found, p)
		return true
	})
	for _, p := range found {
		r.tree.Delete(p)
		if p.start < start {
			r.tree.ReplaceOrInsert(piece[M]{p.start, start, p.maker})
		}
		if p.end > end {
			r.tree.ReplaceOrInsert(piece[M]{end, p.end, p.maker})
		}
		gone = append(gone, piece[M]{max(p.start, start), min(p.end, end), p.maker})
	}
	return gone
}

// add adds a piece where there is none. Neighbours of the same maker become one: a heap grows page by page.
func (r *ranges[M]) add(p piece[M]) {
	r.tree.DescendLessOrEqual(p, func(below piece[M]) bool {
		if below.end == p.start && below.maker == p.maker {
			r.tree.Delete(below)
			p.start = below.start
		}
		return false
	})
	if above, ok := r.tree.Get(piece[M]{start: p.end}); ok && above.maker == p.maker {
		r.tree.Delete(above)
		p.end = above.end
	}
	r.tree.ReplaceOrInsert(p)
}

// move makes the range of a change one piece that counts, or removes it, and returns the pieces that were there. count
// is the number of pieces of all processes; dropped counts the pieces above the limit, most.
func (r *ranges[M]) move(c *event.Change, by M, count, dropped *int, most int) (gone []piece[M], made bool) {
	end := c.Address + uint64(max(c.Size, -c.Size))
	if end < c.Address { // beyond all memory: the arguments of a call that cannot have happened
		return nil, false
	}
	*count -= r.tree.Len()
	gone = r.cut(c.Address, end)
	made = c.Size > 0
	if made && *count+r.tree.Len() >= most {
		*dropped++
		made = false
	}
	if made {
		r.add(piece[M]{c.Address, end, by})
	}
	*count += r.tree.Len()
	return gone, made
}

// at returns the maker of an address. It works on nil ranges, which have none.
func (r *ranges[M]) at(address uint64) (maker M, ok bool) {
	if r == nil {
		return maker, false
	}
	r.tree.DescendLessOrEqual(piece[M]{start: address}, func(p piece[M]) bool {
		maker, ok = p.maker, address < p.end
		return false
	})
	return maker, ok
}

// each calls do for each piece, in order of address.
func (r *ranges[M]) each(do func(p piece[M])) {
	r.tree.Ascend(func(p piece[M]) bool {
		do(p)
		return true
	})
}

// last returns the piece with the highest start up to an address.
func (r *ranges[M]) last(address uint64) (last piece[M], ok bool) {
	r.tree.DescendLessOrEqual(piece[M]{start: address}, func(p piece[M]) bool {
		last, ok = p, true
		return false
	})
	return last, ok
}

// len returns the number of pieces.
func (r *ranges[M]) len() int { return r.tree.Len() }

// rangesOf returns the ranges of a process.
func rangesOf[M comparable](all map[int32]*ranges[M], pid int32) *ranges[M] {
	if all[pid] == nil {
		all[pid] = newRanges[M]()
	}
	return all[pid]
}
