package walk

import (
	"math/rand/v2"
	"testing"
)

// reached returns the vertices that a root reaches without passing one of them.
func reached(g Graph, root, without int32) []bool {
	seen := make([]bool, len(g.first)-1)
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

func itself(v int32) int32 { return v }

// TestDominators compares with the definition, on random graphs: d dominates v if v cannot be reached without d, and
// the immediate one is dominated by all the others.
func TestDominators(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		n := 1 + r.IntN(14)
		var all Arcs
		for range r.IntN(4 * n) {
			all.Add(int32(r.IntN(n)), int32(r.IntN(n)))
		}
		g, back := NewGraph(n, all, itself, false), NewGraph(n, all, itself, true)
		o := g.DepthFirst(0)
		got := o.Dominators(back)
		met := reached(g, 0, -1)
		without := make([][]bool, n)
		for d := 1; d < n; d++ {
			without[d] = reached(g, 0, int32(d))
		}
		dominates := func(d, v int32) bool { return d == 0 || d == v || !without[d][v] }
		for v := int32(1); v < int32(n); v++ {
			if met[v] != (o.Place[v] >= 0) {
				t.Fatalf("vertex %d: reached %v, place %d", v, met[v], o.Place[v])
			}
			if !met[v] {
				continue
			}
			d := o.Vertex[got[o.Place[v]]]
			if d == v || !dominates(d, v) {
				t.Fatalf("%d does not dominate %d: %v", d, v, all.parts)
			}
			for other := range int32(n) {
				if met[other] && other != v && dominates(other, v) && !dominates(other, d) {
					t.Fatalf("%d is nearer to %d than %d: %v", other, v, d, all.parts)
				}
			}
		}
	}
}

// TestLongGraph has a chain and a comb that recursion would not survive.
func TestLongGraph(t *testing.T) {
	const n = 1 << 20
	var all Arcs
	for v := int32(1); v < n; v++ {
		all.Add(v-1, v)
		all.Add(v, v-1)
	}
	o := NewGraph(n, all, itself, false).DepthFirst(0)
	for i, d := range o.Dominators(NewGraph(n, all, itself, true)) {
		if want := max(0, int32(i)-1); d != want {
			t.Fatalf("%d: %d, want %d", i, d, want)
		}
	}
}
