package attribution

import (
	"github.com/google/btree"

	"ipytracer/event"
)

// ranges are the address ranges of one process that cpu.mapped counts and that were seen to be mapped. They do not
// overlap. Unlike a block of an allocator, memory that was mapped at once may be unmapped in pieces, and in one call
// with its neighbours.
type ranges struct {
	tree *btree.BTreeG[piece]
}

// piece is the address range [start, end).
type piece struct {
	start, end uint64
	maker
}

// maker is the stack that mapped a piece and, in an audit, its place and time in the notebook.
type maker struct {
	stack uint64
	birth *birth
	at    event.Nanoseconds
}

func newRanges() *ranges {
	return &ranges{btree.NewG(32, func(x, y piece) bool { return x.start < y.start })}
}

func (p piece) size() event.Bytes { return event.Bytes(p.end - p.start) }

// cut removes [start, end) and returns the pieces that were there, in order of address.
func (r *ranges) cut(start, end uint64) (gone []piece) {
	var found []piece
	r.tree.DescendLessOrEqual(piece{start: start}, func(p piece) bool { // the piece that reaches in from below
		if p.start < start && p.end > start {
			found = append(found, p)
		}
		return p.start == start
	})
	r.tree.AscendRange(piece{start: start}, piece{start: end}, func(p piece) bool {
		found = append(found, p)
		return true
	})
	for _, p := range found {
		r.tree.Delete(p)
		if p.start < start {
			r.tree.ReplaceOrInsert(piece{p.start, start, p.maker})
		}
		if p.end > end {
			r.tree.ReplaceOrInsert(piece{end, p.end, p.maker})
		}
		gone = append(gone, piece{max(p.start, start), min(p.end, end), p.maker})
	}
	return gone
}

// add adds a piece where there is none. Neighbours of the same maker become one: a heap grows page by page.
func (r *ranges) add(p piece) {
	r.tree.DescendLessOrEqual(p, func(below piece) bool {
		if below.end == p.start && below.maker == p.maker {
			r.tree.Delete(below)
			p.start = below.start
		}
		return false
	})
	if above, ok := r.tree.Get(piece{start: p.end}); ok && above.maker == p.maker {
		r.tree.Delete(above)
		p.end = above.end
	}
	r.tree.ReplaceOrInsert(p)
}

// move makes the range of a change one piece that counts, or removes it, and returns the pieces that were there. count
// is the number of pieces of all processes; dropped counts the pieces above the limit, most.
func (r *ranges) move(c *event.Change, by maker, count, dropped *int, most int) (gone []piece, made bool) {
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
		r.add(piece{c.Address, end, by})
	}
	*count += r.tree.Len()
	return gone, made
}

// stackAt returns the stack that mapped an address. It works on nil ranges, which have none.
func (r *ranges) stackAt(address uint64) (stack uint64, ok bool) {
	if r == nil {
		return 0, false
	}
	r.tree.DescendLessOrEqual(piece{start: address}, func(p piece) bool {
		stack, ok = p.stack, address < p.end
		return false
	})
	return stack, ok
}
