package holders

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/python/holders/walk"
)

// ownedGraph is a graph at random with owners, and with others that the root leads to.
func ownedGraph(r *rand.Rand, nodes, groups, arcsEach int) (*tree, *extents) {
	root := int32(nodes + groups)
	var all walk.Arcs
	for v := range nodes {
		for range r.IntN(2*arcsEach + 1) {
			all.Add(int32(v), int32(r.IntN(nodes)))
		}
	}
	for g := range groups {
		all.Add(root, int32(nodes+g))
		all.Add(int32(nodes+g), int32(r.IntN(nodes)))
	}
	all.Add(root, int32(r.IntN(nodes)))
	e := &extents{}
	for range nodes {
		e.bytes, e.unknown, e.class = append(e.bytes, leastShare), append(e.unknown, false), append(e.class, false)
	}
	t := &tree{nodes: nodes, forward: walk.NewGraph(int(root)+1, all, itself, false)}
	t.Order = t.forward.DepthFirst(root)
	return t, e
}

// sharingOf returns the owners that share each vertex of such a graph.
func sharingOf(t *tree, e *extents) *sharing {
	s := &sharing{tree: t, extents: e, addrs: make([]uint64, t.nodes)}
	for v := t.nodes; v < len(t.Place)-1; v++ {
		s.owners = append(s.owners, int32(v))
	}
	s.spread()
	return s
}

// definedMasks is the set of owners that lead to each vertex, and whether others do, by the definition.
func definedMasks(t *tree, owners []int32) (sets []uint64, others []bool) {
	root := int32(len(t.Place) - 1)
	sets, others = make([]uint64, len(t.Place)), make([]bool, len(t.Place))
	for _, to := range t.forward.Of(root) {
		bit := -1
		for i, o := range owners {
			if o == to {
				bit = i
			}
		}
		for v, is := range reachedOf(t.forward, len(t.Place), to, -1) {
			switch {
			case is && bit < 0:
				others[v] = true
			case is:
				sets[v] |= 1 << bit
			}
		}
	}
	return sets, others
}

// TestSetsOfManyOwners compares the sets of many owners with the definition, on random graphs, and counts them.
func TestSetsOfManyOwners(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		tr, e := ownedGraph(r, 20+r.IntN(200), 1+r.IntN(maxOwners), r.IntN(2))
		s := sharingOf(tr, e)
		sets, others := definedMasks(tr, s.owners)
		different := map[uint64]bool{}
		for v := range sets {
			m := s.masks.of[v]
			if (m == othersMask) != others[v] || !others[v] && s.masks.bits[m] != sets[v] {
				t.Fatalf("vertex %d: set %d of %b, want %b, others %t", v, m, s.masks.bits[m], sets[v], others[v])
			}
			if !others[v] && sets[v] != 0 {
				different[sets[v]] = true
			}
		}
		if got := len(s.masks.bits) - int(firstMask); got > 2*len(different) {
			t.Fatalf("%d sets took %d places", len(different), got)
		}
	}
}

// TestMoreMasksThanRoom has room for few sets: the result is true for every owner in it, and memory that is left out is
// held by nobody else all the same.
func TestMoreMasksThanRoom(t *testing.T) {
	before := maxMasks
	t.Cleanup(func() { maxMasks = before })
	r := rand.New(rand.NewPCG(7, 8))
	crowded := 0
	for range 200 {
		tr, e := ownedGraph(r, 20+r.IntN(200), 1+r.IntN(maxOwners), 1)
		maxMasks = before
		all := map[uint64]event.Share{}
		for _, one := range sharingOf(tr, e).shares() {
			all[setOf(one)] = one
		}
		maxMasks = int(firstMask) + 1 + r.IntN(6)
		s := sharingOf(tr, e)
		if len(s.masks.bits) > maxMasks {
			t.Fatalf("%d places for sets, room for %d", len(s.masks.bits), maxMasks)
		}
		for _, one := range s.shares() {
			if whole, ok := all[setOf(one)]; !ok || one.Bytes > whole.Bytes || one.Cyclic > one.Bytes {
				t.Fatalf("%+v, of %+v", one, whole)
			}
		}
		sets, others := definedMasks(tr, s.owners)
		for v := range tr.nodes {
			if s.isOwned(int32(v)) != (sets[v] != 0 && !others[v]) {
				t.Fatalf("vertex %d: free is %t", v, s.isOwned(int32(v)))
			}
			if s.masks.of[v] == crowdedMask {
				crowded++
			}
		}
	}
	if crowded == 0 {
		t.Error("there was room for all")
	}
}

func setOf(s event.Share) (set uint64) {
	for _, o := range s.Owners {
		set |= 1 << o
	}
	return set
}

// BenchmarkSharing has a graph as large as that of a notebook of 60 cells, and prints how many bytes of each object are
// kept.
func BenchmarkSharing(b *testing.B) {
	const nodes = 450_000
	tr, e := ownedGraph(rand.New(rand.NewPCG(9, 10)), nodes, 25, 1)
	live := func() float64 {
		var now runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&now)
		return float64(now.HeapAlloc)
	}
	before := live()
	s := sharingOf(tr, e)
	kept := (live()-before)/nodes - 8 // the addresses
	runtime.KeepAlive(s)
	for b.Loop() {
		sharingOf(tr, e).shares()
	}
	b.ReportMetric(kept, "kept-B/object")
}

func itself(v int32) int32 { return v }

// reachedOf returns which of some vertices a root reaches without passing one of them.
func reachedOf(g walk.Graph, vertices int, root, without int32) []bool {
	seen := make([]bool, vertices)
	queue := []int32{root}
	seen[root] = true
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		for _, to := range g.Of(v) {
			if to != without && !seen[to] {
				seen[to] = true
				queue = append(queue, to)
			}
		}
	}
	return seen
}
