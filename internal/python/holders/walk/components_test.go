package walk

import (
	"math/rand/v2"
	"testing"
)

// TestOnCycles compares with the definition, on random graphs: an arc is on a cycle where its head reaches its tail.
func TestOnCycles(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	cycles, arcs := 0, 0
	for range 2000 {
		n := 1 + r.IntN(10)
		var all, some Arcs
		barred := map[int32]bool{}
		for v := range n {
			barred[int32(v)] = r.IntN(5) == 0
		}
		let := func(v int32) bool { return !barred[v] }
		isSome := map[arc]bool{}
		for range r.IntN(3 * n) {
			tail, head := int32(r.IntN(n)), int32(r.IntN(n))
			all.Add(tail, head)
			if r.IntN(4) == 0 {
				some.Add(tail, head)
				isSome[arc{tail, head}] = true
			}
		}
		g := NewGraph(n, all, itself, false)
		var inner Arcs
		all.each(func(tail, head int32) {
			if let(tail) && let(head) {
				inner.Add(tail, head)
			}
		})
		of := NewGraph(n, inner, itself, false)
		on, parts := g.OnCycles(&some, let)
		got := map[arc]bool{}
		for _, a := range on {
			got[a] = true
		}
		cores := make([]bool, n)
		for a := range isSome {
			want := let(a.tail) && let(a.head) && reached(of, a.head, -1)[a.tail]
			if got[a] != want {
				t.Fatalf("arc %v of %v: on a cycle %t, want %t", a, all.parts, got[a], want)
			}
			if arcs++; !want {
				continue
			}
			cycles++
			for v, is := range reached(of, a.tail, -1) {
				cores[v] = cores[v] || is && reached(of, int32(v), -1)[a.tail]
			}
		}
		for v := range int32(n) {
			if parts != nil && (parts[v] >= 0) != cores[v] {
				t.Fatalf("vertex %d of %v: part %d, of a cycle %t", v, all.parts, parts[v], cores[v])
			}
		}
		if parts != nil {
			compareSpread(t, g, of, parts, cores, let)
		}
	}
	if cycles < 200 || arcs < cycles+200 {
		t.Errorf("%d arcs on cycles, of %d", cycles, arcs)
	}
}

// compareSpread compares the vertices that cores lead to with those that get a part; of is the graph without vertices
// that are not let.
func compareSpread(t *testing.T, g, of Graph, parts []int32, cores []bool, let func(int32) bool) {
	t.Helper()
	want := make([]bool, len(cores))
	for core, is := range cores {
		for v, led := range reached(of, int32(core), -1) {
			want[v] = want[v] || is && led
		}
	}
	g.Spread(parts, let)
	for v, is := range want {
		if (parts[v] >= 0) != is {
			t.Fatalf("vertex %d: led to %t, want %t", v, parts[v] >= 0, is)
		}
	}
}

// TestLongCycle has a cycle that recursion would not survive.
func TestLongCycle(t *testing.T) {
	const n = 1 << 20
	var all, some Arcs
	for v := range int32(n) {
		all.Add(v, (v+1)%n)
	}
	some.Add(5, 6)
	on, parts := NewGraph(n, all, itself, false).OnCycles(&some, func(int32) bool { return true })
	if len(on) != 1 || parts[0] < 0 || parts[0] != parts[n-1] {
		t.Errorf("%d arcs on cycles", len(on))
	}
}
