package holders

import (
	"math/rand/v2"
	"testing"
)

// reached says which vertices a root reaches without passing one of them.
func reached(g graph, root, without int32) []bool {
	seen := make([]bool, len(g.first)-1)
	queue := []int32{root}
	seen[root] = true
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		for _, to := range g.of(v) {
			if to != without && !seen[to] {
				seen[to] = true
				queue = append(queue, to)
			}
		}
	}
	return seen
}

// TestDominators compares with the definition, on random graphs: d dominates v if v cannot be reached without d, and the
// immediate one is dominated by all the others.
func TestDominators(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		n := 1 + r.IntN(14)
		var tails, heads []int32
		for range r.IntN(4 * n) {
			tails, heads = append(tails, int32(r.IntN(n))), append(heads, int32(r.IntN(n)))
		}
		g, back := newGraph(n, tails, heads), newGraph(n, heads, tails)
		o := g.depthFirst(0)
		got := o.dominators(back)
		all := reached(g, 0, -1)
		without := make([][]bool, n)
		for d := 1; d < n; d++ {
			without[d] = reached(g, 0, int32(d))
		}
		dominates := func(d, v int32) bool { return d == 0 || d == v || !without[d][v] }
		for v := int32(1); v < int32(n); v++ {
			if all[v] != (o.place[v] >= 0) {
				t.Fatalf("vertex %d: reached %v, place %d", v, all[v], o.place[v])
			}
			if !all[v] {
				continue
			}
			d := o.vertex[got[o.place[v]]]
			if d == v || !dominates(d, v) {
				t.Fatalf("%d does not dominate %d: %v %v", d, v, tails, heads)
			}
			for other := range int32(n) {
				if all[other] && other != v && dominates(other, v) && !dominates(other, d) {
					t.Fatalf("%d is nearer to %d than %d: %v %v", other, v, d, tails, heads)
				}
			}
		}
	}
}

// TestLongGraph has a chain and a comb that recursion would not survive.
func TestLongGraph(t *testing.T) {
	const n = 1 << 20
	var tails, heads []int32
	for v := int32(1); v < n; v++ {
		tails, heads = append(tails, v-1, v), append(heads, v, v-1)
	}
	o := newGraph(n, tails, heads).depthFirst(0)
	for i, d := range o.dominators(newGraph(n, heads, tails)) {
		if want := max(0, int32(i)-1); d != want {
			t.Fatalf("%d: %d, want %d", i, d, want)
		}
	}
}
