package walk

import (
	"context"
	"testing"

	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/objects"
)

// bare is a walker that has nothing to read.
func bare(n *objects.Notes) *Walker {
	w := NewWalker(context.Background(), cpython.Heap{}, nil, nil, objects.Limits{})
	w.Notes = n
	return w
}

// TestCyclesOfLongWays: for blocks on one long way the way is gone once, however many there are.
func TestCyclesOfLongWays(t *testing.T) {
	const nodes = 200_000
	w := bare(&objects.Notes{Noted: make([]objects.Note, 1), Steps: []objects.Step{objects.StepStop},
		Types: []*objects.Type{nil}})
	w.Addrs = make([]uint64, nodes)
	w.Shell.Out = 1
	for n := range int32(nodes) {
		w.Nodes = append(w.Nodes, Node{Parent: n - 1, Kind: KindOutput})
	}
	c := newOutputCycles(w)
	for n := range int32(nodes) {
		if c.holds(n) {
			t.Fatalf("node %d is in a cycle", n)
		}
	}
	if took := maxSearched - c.left; took > 4*nodes {
		t.Errorf("%d steps for %d nodes", took, nodes)
	}
}
