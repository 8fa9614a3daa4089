package holders

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

// letGo has the needed steps to let go of a group.
type letGo struct {
	mine   []string // names in __main__, those of IPython's outputs left out
	more   bool
	out    string // a name of IPython's in __main__
	kept   bool   // IPython has it besides
	newest bool   // the last cell's result
	barred bool   // something has it that no code here takes it from
	how    event.Release
	tool   event.Tool
}

// letting returns the steps to let go of a group, to be noted. A nil group has no reader, here and below.
func (g *group) letting() *letGo {
	if g == nil {
		return &letGo{}
	}
	if g.letGo == nil {
		g.letGo = &letGo{}
	}
	return g.letGo
}

// typed notes a name of the user's.
func (g *group) typed(name string) {
	if let := g.letting(); len(let.mine) == maxAlso {
		let.more = true
	} else {
		let.mine = append(let.mine, name)
	}
}

// output notes a name that IPython has given in the user's namespace.
func (g *group) output(name string) {
	let := g.letting()
	let.kept = true
	if let.out == "" || len(name) > 1 && let.out[len(let.out)-1] == '_' { // _2 stays longer than _
		let.out = name
	}
}

func (g *group) keep() { g.letting().kept = true }

func (g *group) last() { g.letting().newest = true }

func (g *group) bar() { g.letting().barred = true }

// isOwner reports whether code can let go of a group.
func (g *group) isOwner() bool {
	switch g.kind {
	case event.HeldByVariable, event.HeldByOutput, event.HeldByTraceback:
		return true
	}
	return g.letGo != nil && g.how != event.ReleaseNames
}

// others looks at objects that no name has led to: those of them that wait for the garbage collector hold their
// references. Objects that are not looked at, because they are known not to wait, or for want of time or room, count as
// held by something else.
func (l *lister) others(modules []module) {
	l.loose = len(l.nodes)
	if l.stopped != nil {
		return
	}
	defer func() { l.stopped, l.mem.err = nil, nil }()
	l.kind = kindCycle
	held := heldElsewhere(l.walker, modules)
	for id := range l.notes.noted {
		one := &l.notes.noted[id]
		if one.is(noteTracked) && !one.is(noteLeaf) && one.typ() != 0 && l.of[id] == 0 && !held.has(int32(id)) &&
			!l.done() {
			l.add(nobody, l.notes.addrs[id], int32(id), label{}, nodeObject)
		}
	}
	l.run()
	l.beliefs.followDoubts()
	l.unmet = held.bytes()
}

func newSharing(l *lister, t *tree) *sharing { return &sharing{tree: t, of: l.extents, addrs: l.addrs} }

// list returns the sets of rows that hold memory together: of the rows, those that are worth it.
func (s *sharing) list(l *lister, rows []listedRow) (owners []event.Owner, shares []event.Share) {
	for _, i := range s.candidates(l, rows) {
		r := &rows[i]
		g := &l.groups[r.group]
		owners = append(owners, event.Owner{Kind: g.kind, Variable: int32(i), Names: g.mine, More: g.more,
			Output: g.out, Kept: g.kept, Last: g.newest, Release: g.how, Tool: g.tool})
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
		if g := &l.groups[r.group]; g.isOwner() && !g.letting().barred && size(i) >= leastOwner {
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
	of     *extents
	addrs  []uint64 // of nodes
	owners []int32  // their vertices, by bit
	masks  masks    // of vertices
	cyclic []bool   // vertices that go only when the collector runs
	lost   []int32  // see [tree.lost]
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
	s.lost = s.tree.lost(s.of, s.free)
}

// goes reports whether a vertex goes with its owners.
func (s *sharing) goes(v int32) bool { return s.free(v) && (s.lost == nil || s.lost[v] < 0) }

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
		if s.cyclic[v] && left[v] == 0 && !s.of.class[v] {
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
		if s.goes(v) && s.masks.of[v] != crowdedMask {
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
		if m := s.masks.of[v]; s.goes(v) && m != crowdedMask && isListed[m] {
			s.piece(&all[s.masks.of[v]], v)
		}
	}
	for _, i := range listed {
		all[i].Pieces = largest(all[i].Pieces)
		out = append(out, all[i])
	}
	return out
}

// count takes a vertex into a share.
func (s *sharing) count(one *event.Share, v int32) {
	bytes := event.Bytes(s.of.bytes[v])
	one.Bytes += bytes
	one.Small += bytes - min(bytes, event.Bytes(s.of.large[v]))
	if s.cyclic[v] {
		one.Cyclic += bytes
	}
	one.Device += event.Bytes(s.of.device[v])
	one.Exact = one.Exact && !s.of.unknown[v]
}

// piece takes a vertex into the largest objects of a share in the result.
func (s *sharing) piece(one *event.Share, v int32) {
	bytes := event.Bytes(s.of.bytes[v])
	if bytes < leastPiece {
		return
	}
	one.Pieces = append(one.Pieces, event.Piece{Address: s.addrs[v], Size: bytes})
	if len(one.Pieces) >= 8*maxPieces {
		one.Pieces = largest(one.Pieces)
	}
}

// largest are the largest pieces.
func largest(all []event.Piece) []event.Piece {
	slices.SortStableFunc(all, func(a, b event.Piece) int { return cmp.Compare(b.Size, a.Size) })
	return slices.Clip(all[:min(len(all), maxPieces)])
}

// describePiece notes the facts by which an object is known again.
func (l *lister) describePiece(p *event.Piece) {
	if t := l.objectType(p.Address); t != nil {
		own, _ := l.measure(p.Address, t)
		p.Type, p.Own = t.addr, event.Bytes(own)
	}
}

// still returns which objects are there still: of the same type and as large as they were.
func still(w *walker, all []event.Piece) []bool {
	out := make([]bool, len(all))
	for i, p := range all {
		if p.Type == 0 { // C++
			out[i] = w.class(w.mem.word(p.Address)) != ""
			continue
		}
		id, ok := w.notes.index.get(p.Address, w.notes.addrs)
		if !ok || w.notes.noted[id].typ() == 0 {
			t := w.typeNow(p.Address) // a leaf that no other object has is not noted
			out[i] = !ok && t != nil && t.addr == p.Type && t.shape == shapeLeaf
			continue
		}
		out[i] = w.notes.types[w.notes.noted[id].typ()].addr == p.Type && w.notes.bytes(id) == uint64(p.Own)
	}
	return out
}
