package holders

import (
	"cmp"
	"math/bits"
	"slices"

	"ipytracer/event"
)

// The memory that a set of names holds is not the sum of the memory that each holds alone: of two views of one array,
// each alone holds nothing, but both together hold the array. So each object gets the set of all owners that lead to
// it, see [masks]. Objects with the same set are a share: it is freed once all of its owners are let go of. An owner is
// something that can be let go of: an object's names, an output, the last exception. Objects to which anything else
// leads are in no share. The last owner is the set of objects that wait for the garbage collector.

// Bounds of the owners and shares that a listing has.
const (
	maxOwners    = 62       // the objects that wait for the collector included
	leastOwner   = 64 << 10 // bytes that an owner reaches
	leastShare   = 16 << 10 // bytes of a share
	maxShares    = 256      // in the result
	maxPieces    = 32       // of a share
	leastPlacing = 1 << 20  // bytes of a share, for its blocks to be placed
	leastPiece   = 256      // bytes
)

// listPython returns the rows that are owners, and their shares.
func (s *sharing) list(l *lister, rows []listedRow) (owners []event.Owner, shares []event.Share) {
	for _, i := range s.candidates(l, rows) {
		r := &rows[i]
		g := &l.groups[r.group]
		owners = append(owners, event.Owner{
			Kind: g.kind, Variable: int32(i), Names: g.expressions, More: g.moreExpressions,
			Output: g.outputName, Kept: g.inHistory, Last: g.lastResult, Release: g.how, Tool: g.tool,
		})
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

// sharing knows the owners that lead to each vertex.
type sharing struct {
	*tree
	extents *extents
	addrs   []uint64 // by node
	owners  []int32  // by bit: the vertex of the owner's group
	masks   masks    // by vertex: the owners that lead to it
	cyclic  []bool   // by node: it stays without owners until the collector runs
	lost    []int32  // see tree.lost
}

// spread marks each vertex with the owners that lead to it. A vertex to which anything else leads has no owner.
func (s *sharing) spread() {
	root := int32(len(s.Place) - 1)
	s.masks = newMasks(len(s.Place))
	var queue []int32
	markReachable := func(mark func(v int32) (isNew bool)) { // from the vertices in the queue
		for len(queue) > 0 {
			v := queue[len(queue)-1]
			queue = queue[:len(queue)-1]
			for _, to := range s.forward.Of(v) {
				if mark(to) {
					queue = append(queue, to)
				}
			}
		}
	}
	for _, to := range s.forward.Of(root) {
		if !slices.Contains(s.owners, to) && s.masks.addOthers(to) {
			queue = append(queue, to)
		}
	}
	markReachable(s.masks.addOthers)
	for bit, v := range s.owners {
		if s.masks.addOwner(v, bit) {
			queue = append(queue, v)
		}
		markReachable(func(to int32) bool { return s.masks.addOwner(to, bit) })
	}
	s.masks.met = nil // all owners have been added
	s.findCycles()
	s.lost = s.tree.lost(s.extents, s.isOwned)
}

// isFreed reports whether a vertex is freed once its owners are let go of, at the latest when the collector runs.
func (s *sharing) isFreed(v int32) bool { return s.isOwned(v) && (s.lost == nil || s.lost[v] < 0) }

// isOwned reports whether a vertex is an object that only owners hold.
func (s *sharing) isOwned(v int32) bool { return int(v) < s.nodes && s.masks.owned(v) }

// findCycles finds the objects of owners that stay until the collector runs, once all owners are let go of: cycles, and
// the objects to which these lead. A class is a cycle by itself. One search does for all sets of owners, because
// everything that leads to an owned object has the same owners, or some of them.
func (s *sharing) findCycles() {
	s.cyclic = make([]bool, s.nodes)
	left := make([]int32, s.nodes) // by node: references from owned objects that have not gone
	for v := range int32(s.nodes) {
		if s.isOwned(v) {
			s.cyclic[v] = true
			for _, to := range s.forward.Of(v) {
				if s.isOwned(to) {
					left[to]++
				}
			}
		}
	}
	var queue []int32
	goIfUnreferenced := func(v int32) {
		if s.cyclic[v] && left[v] == 0 && !s.extents.class[v] {
			s.cyclic[v] = false
			queue = append(queue, v)
		}
	}
	for v := range int32(s.nodes) {
		goIfUnreferenced(v)
	}
	for len(queue) > 0 {
		v := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, to := range s.forward.Of(v) {
			if s.isOwned(to) {
				left[to]--
				goIfUnreferenced(to)
			}
		}
	}
}

// shares adds up the vertices with the same owners, and returns the shares with most bytes, the largest first.
func (s *sharing) shares() (out []event.Share) {
	shares := make([]event.Share, len(s.masks.bits)) // by set of owners
	for i := range shares {
		shares[i].Exact = true
	}
	for v := range int32(s.nodes) {
		if set := s.masks.of[v]; s.isFreed(v) && set != crowdedMask {
			s.addVertex(&shares[set], v)
		}
	}
	var listed []int
	for i := range shares {
		share := &shares[i]
		if share.Bytes+share.Device < leastShare {
			continue
		}
		for owners := s.masks.bits[i]; owners != 0; owners &= owners - 1 {
			share.Owners = append(share.Owners, int32(bits.TrailingZeros64(owners)))
		}
		listed = append(listed, i)
	}
	slices.SortFunc(listed, func(a, b int) int {
		x, y := &shares[a], &shares[b]
		return cmp.Or(cmp.Compare(y.Bytes+y.Device, x.Bytes+x.Device), slices.Compare(x.Owners, y.Owners))
	})
	listed = listed[:min(len(listed), maxShares)]
	s.findPieces(shares, listed)
	for _, i := range listed {
		out = append(out, shares[i])
	}
	return out
}

// findPieces finds the largest objects of the listed shares. Those of all shares would take much memory.
func (s *sharing) findPieces(shares []event.Share, listed []int) {
	isListed := make([]bool, len(shares))
	for _, i := range listed {
		isListed[i] = true
	}
	for v := range int32(s.nodes) {
		if set := s.masks.of[v]; s.isFreed(v) && set != crowdedMask && isListed[set] {
			s.addPiece(&shares[set], v)
		}
	}
	for _, i := range listed {
		shares[i].Pieces = largest(shares[i].Pieces)
	}
}

// addVertex adds a vertex to a share.
func (s *sharing) addVertex(share *event.Share, v int32) {
	bytes := event.Bytes(s.extents.bytes[v])
	share.Bytes += bytes
	share.Small += bytes - min(bytes, event.Bytes(s.extents.large[v]))
	if s.cyclic[v] {
		share.Cyclic += bytes
	}
	share.Device += event.Bytes(s.extents.device[v])
	share.Exact = share.Exact && !s.extents.unknown[v]
}

// addPiece adds a vertex to the largest objects of a share.
func (s *sharing) addPiece(share *event.Share, v int32) {
	const enough = 8 * maxPieces // to sort them
	bytes := event.Bytes(s.extents.bytes[v])
	if bytes < leastPiece {
		return
	}
	share.Pieces = append(share.Pieces, event.Piece{Address: s.addrs[v], Size: bytes})
	if len(share.Pieces) >= enough {
		share.Pieces = largest(share.Pieces)
	}
}

// largest returns the maxPieces largest pieces, the largest first.
func largest(pieces []event.Piece) []event.Piece {
	slices.SortStableFunc(pieces, func(a, b event.Piece) int { return cmp.Compare(b.Size, a.Size) })
	return slices.Clip(pieces[:min(len(pieces), maxPieces)])
}

// describePiece fills in the facts by which a later survey recognizes an object.
func (l *lister) describePiece(p *event.Piece) {
	if t := l.ObjectType(p.Address); t != nil {
		own, _ := l.Measure(p.Address, t)
		p.Type, p.Own = t.Addr, event.Bytes(own)
	}
}
