package variables

import (
	"cmp"
	"math/bits"
	"slices"

	"ipytracer/event"
)

// The memory that a set of names holds does not follow from the memory that each holds alone: two views of one array
// hold nothing, and both of them all of it. So each object gets the set of all owners that lead to it, see [masks], and
// objects that others lead to are set apart. Objects with the same set are a share: it goes when all of its owners do.
// An owner can be let go of: an object's names, an output, the last exception. The last owner is the set of objects
// that wait for the garbage collector, which hold their references as well.

// Bounds of the owners that a result has.
const (
	maxOwners    = 62       // with the objects that wait for the collector
	leastOwner   = 64 << 10 // bytes that an owner reaches
	leastShare   = 16 << 10 // bytes of a share
	maxShares    = 256      // in the result
	maxPieces    = 32       // of a share
	leastPlacing = 1 << 20  // bytes of a share, for its blocks to be placed
	leastPiece   = 256      // bytes
)

// list returns the sets of rows that hold memory together: of the rows, those that are worth it.
func (s *sharing) list(l *lister, rows []listedRow) (owners []event.Owner, shares []event.Share) {
	for _, i := range s.candidates(l, rows) {
		r := &rows[i]
		g := &l.groups[r.group]
		owners = append(owners, event.Owner{Kind: g.kind, Variable: int32(i), Names: g.expressions,
			More:   g.moreExpressions,
			Output: g.outputName, Kept: g.inHistory, Last: g.lastResult, Release: g.how, Tool: g.tool})
		s.owners = append(s.owners, int32(s.nodes+r.group))
	}
	owners = append(owners, event.Owner{Kind: event.HeldByCycle, Variable: -1})
	s.owners = append(s.owners, int32(s.nodes+len(l.groups)-1))
	s.spread()
	shares = s.shares()
	for i := range shares {
		for n := range shares[i].Pieces {
			l.describePiece(&shares[i].Pieces[n])
		}
	}
	return owners, shares
}

// candidates returns the rows that become owners, in their order: those that lead to most.
func (s *sharing) candidates(l *lister, rows []listedRow) (out []int) {
	size := func(i int) uint64 { return max(uint64(rows[i].size()), rows[i].mapped) }
	for i, r := range rows {
		if g := &l.groups[r.group]; g.isOwner() && !g.toRelease().barred && size(i) >= leastOwner {
			out = append(out, i)
		}
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(size(b), size(a)) })
	out = out[:min(len(out), maxOwners-1)]
	slices.Sort(out)
	return out
}

// sharing returns the owners that lead to each vertex.
type sharing struct {
	*tree
	extents *extents
	addrs   []uint64 // of nodes
	owners  []int32  // their vertices, by bit
	masks   masks    // of vertices
	cyclic  []bool   // vertices that go only when the collector runs
	lost    []int32  // see tree.lost
}

// spread has each owner's bit go wherever it leads. Vertices that others lead to are of no owner.
func (s *sharing) spread() {
	root := int32(len(s.Place) - 1)
	s.masks = newMasks(len(s.Place))
	var queue []int32
	lead := func(take func(v int32) bool) {
		for len(queue) > 0 {
			v := queue[len(queue)-1]
			queue = queue[:len(queue)-1]
			for _, to := range s.forward.Of(v) {
				if take(to) {
					queue = append(queue, to)
				}
			}
		}
	}
	for _, to := range s.forward.Of(root) {
		if !slices.Contains(s.owners, to) && s.masks.others(to) {
			queue = append(queue, to)
		}
	}
	lead(s.masks.others)
	for bit, v := range s.owners {
		if s.masks.own(v, bit) {
			queue = append(queue, v)
		}
		lead(func(to int32) bool { return s.masks.own(to, bit) })
	}
	s.masks.met = nil // no owner is to come
	s.findCycles()
	s.lost = s.tree.lost(s.extents, s.free)
}

// isFreed reports whether a vertex goes with its owners.
func (s *sharing) isFreed(v int32) bool { return s.free(v) && (s.lost == nil || s.lost[v] < 0) }

// free reports whether a vertex is an object that owners hold and nothing else.
func (s *sharing) free(v int32) bool { return int(v) < s.nodes && s.masks.owned(v) }

// findCycles finds the objects that stay when all owners let go, until the collector runs: cycles, and the objects that
// these lead to. As everything that leads to the objects of a set of owners is theirs as well, the result is the same
// for each set. Classes are cycles by themselves.
func (s *sharing) findCycles() {
	s.cyclic = make([]bool, s.nodes)
	left := make([]int32, s.nodes) // references from others of the kind
	for v := range int32(s.nodes) {
		if s.free(v) {
			s.cyclic[v] = true
			for _, to := range s.forward.Of(v) {
				if s.free(to) {
					left[to]++
				}
			}
		}
	}
	var queue []int32
	goes := func(v int32) {
		if s.cyclic[v] && left[v] == 0 && !s.extents.class[v] {
			s.cyclic[v] = false
			queue = append(queue, v)
		}
	}
	for v := range int32(s.nodes) {
		goes(v)
	}
	for len(queue) > 0 {
		v := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, to := range s.forward.Of(v) {
			if s.free(to) {
				left[to]--
				goes(to)
			}
		}
	}
}

// shares adds up the vertices with the same owners, most bytes first. For those in the result the largest objects are
// found in a second pass: for all they would take much memory.
func (s *sharing) shares() (out []event.Share) {
	all, isListed := make([]event.Share, len(s.masks.bits)), make([]bool, len(s.masks.bits))
	for i := range all {
		all[i].Exact = true
	}
	for v := range int32(s.nodes) {
		if s.isFreed(v) && s.masks.of[v] != crowdedMask {
			s.count(&all[s.masks.of[v]], v)
		}
	}
	var listed []int
	for i := range all {
		one := &all[i]
		if one.Bytes+one.Device < leastShare {
			continue
		}
		for m := s.masks.bits[i]; m != 0; m &= m - 1 {
			one.Owners = append(one.Owners, int32(bits.TrailingZeros64(m)))
		}
		listed = append(listed, i)
	}
	slices.SortFunc(listed, func(a, b int) int {
		x, y := &all[a], &all[b]
		return cmp.Or(cmp.Compare(y.Bytes+y.Device, x.Bytes+x.Device), slices.Compare(x.Owners, y.Owners))
	})
	listed = listed[:min(len(listed), maxShares)]
	for _, i := range listed {
		isListed[i] = true
	}
	for v := range int32(s.nodes) {
		if m := s.masks.of[v]; s.isFreed(v) && m != crowdedMask && isListed[m] {
			s.piece(&all[s.masks.of[v]], v)
		}
	}
	for _, i := range listed {
		all[i].Pieces = largest(all[i].Pieces)
		out = append(out, all[i])
	}
	return out
}

// count adds a vertex to a share.
func (s *sharing) count(one *event.Share, v int32) {
	bytes := event.Bytes(s.extents.bytes[v])
	one.Bytes += bytes
	one.Small += bytes - min(bytes, event.Bytes(s.extents.large[v]))
	if s.cyclic[v] {
		one.Cyclic += bytes
	}
	one.Device += event.Bytes(s.extents.device[v])
	one.Exact = one.Exact && !s.extents.unknown[v]
}

// piece adds a vertex to the largest objects of a share in the result.
func (s *sharing) piece(one *event.Share, v int32) {
	bytes := event.Bytes(s.extents.bytes[v])
	if bytes < leastPiece {
		return
	}
	one.Pieces = append(one.Pieces, event.Piece{Address: s.addrs[v], Size: bytes})
	if len(one.Pieces) >= 8*maxPieces {
		one.Pieces = largest(one.Pieces)
	}
}

// largest returns the largest pieces.
func largest(all []event.Piece) []event.Piece {
	slices.SortStableFunc(all, func(a, b event.Piece) int { return cmp.Compare(b.Size, a.Size) })
	return slices.Clip(all[:min(len(all), maxPieces)])
}

// describePiece notes the facts by which an object is known again.
func (l *lister) describePiece(p *event.Piece) {
	if t := l.ObjectType(p.Address); t != nil {
		own, _ := l.Measure(p.Address, t)
		p.Type, p.Own = t.Addr, event.Bytes(own)
	}
}
