package holders

import (
	"math/rand/v2"
	"slices"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/python/holders/walk"
)

// TestSharesOfGraphs compares with the definition, on random graphs: deleting a set of owners frees everything that the
// others and the root do not reach, and an object without references goes at once.
func TestSharesOfGraphs(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		nodes, groups := 1+r.IntN(12), 1+r.IntN(4)
		e := &extents{data: map[int32]uint64{}, device: map[int32]uint64{}}
		root := int32(nodes + groups)
		var all walk.Arcs
		named := func(tail int32) int32 {
			if tail < nobody {
				return int32(nodes) - 2 - tail
			}
			return tail
		}
		for range r.IntN(3 * nodes) {
			all.Add(int32(r.IntN(nodes)), int32(r.IntN(nodes)))
		}
		for g := range groups {
			all.Add(root, int32(nodes+g))
			for range 1 + r.IntN(2) {
				all.Add(tailOf(g), int32(r.IntN(nodes)))
			}
		}
		if r.IntN(2) == 0 {
			all.Add(root, int32(r.IntN(nodes)))
		}
		for range nodes {
			e.bytes, e.unknown, e.class = append(e.bytes, uint64(leastShare)<<r.IntN(8)), append(e.unknown, false),
				append(e.class, false)
		}
		tr := &tree{nodes: nodes, forward: walk.NewGraph(int(root)+1, all, named, false)}
		tr.Order = tr.forward.DepthFirst(root)
		s := &sharing{tree: tr, extents: e, addrs: make([]uint64, nodes)}
		for g := range groups {
			s.owners = append(s.owners, int32(nodes+g))
		}
		s.spread()
		shares := s.shares()
		for set := range 1 << groups {
			bytes, cyclic := event.Bytes(0), event.Bytes(0)
			for _, one := range shares {
				if !slices.ContainsFunc(one.Owners, func(o int32) bool { return set>>o&1 == 0 }) {
					bytes, cyclic = bytes+one.Bytes, cyclic+one.Cyclic
				}
			}
			want, waits := deleted(tr, e, root, set)
			if bytes != want || cyclic != waits {
				t.Fatalf("set %b of %d groups: %d bytes, %d of them cyclic; want %d, %d", set, groups, bytes, cyclic,
					want, waits)
			}
		}
	}
}

// deleted returns the objects that deleting a set of groups frees, by the definition, and those that only the collector
// frees.
func deleted(t *tree, e *extents, root int32, set int) (bytes, cyclic event.Bytes) {
	of, vertices := t.forward.Of(root), len(t.Place)
	whole, before := slices.Clone(of), reachedOf(t.forward, vertices, root, -1)
	for i, to := range of {
		if g := int(to) - t.nodes; g >= 0 && set>>g&1 == 1 {
			of[i] = root
		}
	}
	stays := reachedOf(t.forward, vertices, root, -1)
	copy(of, whole)
	left := make([]int, t.nodes)
	gone := make([]bool, t.nodes)
	for v := range int32(len(stays)) {
		if int(v) >= t.nodes && !stays[v] {
			continue // a name that has gone
		}
		if before[v] {
			for _, to := range t.forward.Of(v) {
				if int(to) < t.nodes {
					left[to]++
				}
			}
		}
	}
	for again := true; again; {
		again = false
		for v := range int32(t.nodes) {
			if before[v] && !stays[v] && !gone[v] && left[v] == 0 {
				gone[v], again = true, true
				for _, to := range t.forward.Of(v) {
					left[to]--
				}
			}
		}
	}
	for v := range t.nodes {
		if before[v] && !stays[v] {
			bytes += event.Bytes(e.bytes[v])
			if !gone[v] {
				cyclic += event.Bytes(e.bytes[v])
			}
		}
	}
	return bytes, cyclic
}
