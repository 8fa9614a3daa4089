package holders

// graph is a directed graph of vertices 0 … n-1. Arcs of vertex v are heads[first[v]:first[v+1]].
type graph struct {
	first, heads []int32
}

// arcs are arcs as they are met, in pieces: one slice that grows would be there twice while it does. Those of a tail
// follow each other mostly: a tail is written, as a negative number, where it is another than before.
type arcs struct {
	parts [][]int32
	count int
	tail  int32 // the last
}

// lowestTail is the first that is allowed.
const lowestTail = -1 << 24

func (a *arcs) add(tail, head int32) {
	if a.count == 0 || tail != a.tail {
		a.tail = tail
		a.put(lowestTail - 1 - tail)
	}
	a.put(head)
	a.count++
}

func (a *arcs) put(v int32) {
	const size = 1 << 16
	last := len(a.parts) - 1
	if last < 0 || len(a.parts[last]) == size {
		a.parts = append(a.parts, make([]int32, 0, size))
		last++
	}
	a.parts[last] = append(a.parts[last], v)
}

// newGraph sorts arcs by their tails, or turned round. named gives the vertex of a tail.
func newGraph(n int, all arcs, named func(tail int32) int32, back bool) graph {
	g := graph{make([]int32, n+1), make([]int32, all.count)}
	each := func(yield func(tail, head int32)) {
		var tail int32
		for _, part := range all.parts {
			for _, v := range part {
				switch {
				case v < 0:
					tail = named(lowestTail - 1 - v)
				case back:
					yield(v, tail)
				default:
					yield(tail, v)
				}
			}
		}
	}
	each(func(tail, _ int32) { g.first[tail]++ })
	sum := int32(0)
	for v, count := range g.first {
		g.first[v] = sum
		sum += count
	}
	each(func(tail, head int32) {
		g.heads[g.first[tail]] = head
		g.first[tail]++
	})
	copy(g.first[1:], g.first[:n]) // each has moved to where the next begins
	g.first[0] = 0
	return g
}

func (g graph) of(v int32) []int32 { return g.heads[g.first[v]:g.first[v+1]] }

// order is a depth-first order of the vertices that a root reaches: the vertices as they are met, and of each its place
// in that order, -1 for one that is not reached, and the place of the vertex it was met from.
type order struct {
	vertex, place, parent []int32
}

func (g graph) depthFirst(root int32) order {
	n := len(g.first) - 1
	o := order{place: make([]int32, n), vertex: make([]int32, 0, n), parent: make([]int32, 0, n)}
	for v := range o.place {
		o.place[v] = -1
	}
	type step struct{ vertex, next int32 }
	stack := []step{{root, g.first[root]}}
	o.place[root], o.vertex, o.parent = 0, append(o.vertex, root), append(o.parent, 0)
	for len(stack) > 0 {
		s := &stack[len(stack)-1]
		if s.next == g.first[s.vertex+1] {
			stack = stack[:len(stack)-1]
			continue
		}
		from, to := s.vertex, g.heads[s.next]
		s.next++
		if o.place[to] < 0 {
			o.place[to] = int32(len(o.vertex))
			o.vertex, o.parent = append(o.vertex, to), append(o.parent, o.place[from])
			stack = append(stack, step{to, g.first[to]})
		}
	}
	return o
}

// dominators returns for each vertex, by its place in the order, the place of its immediate dominator: the one that
// every way from the root leads through. It is the algorithm SemiNCA (Georgiadis, "Linear-Time Algorithms for
// Dominators and Related Problems", 2005); back has each arc turned round.
func (o order) dominators(back graph) []int32 {
	n := len(o.vertex)
	semi, best, dominator, ancestor := make([]int32, n), make([]int32, n), make([]int32, n), make([]int32, n)
	for i := range n {
		semi[i], best[i] = int32(i), int32(i)
		dominator[i], ancestor[i] = o.parent[i], -1
	}
	var path []int32
	for i := int32(n - 1); i > 0; i-- {
		for _, from := range back.of(o.vertex[i]) {
			p := o.place[from]
			if p < 0 {
				continue
			}
			if ancestor[p] >= 0 {
				path = compress(p, path, ancestor, best, semi)
			}
			semi[i] = min(semi[i], semi[best[p]])
		}
		ancestor[i] = o.parent[i]
	}
	for i := int32(1); i < int32(n); i++ {
		for dominator[i] > semi[i] {
			dominator[i] = dominator[dominator[i]]
		}
	}
	return dominator
}

// compress shortens the way from a vertex to the root of its tree; best is then the vertex with the least semi on it.
func compress(p int32, path, ancestor, best, semi []int32) []int32 {
	path = path[:0]
	for ancestor[ancestor[p]] >= 0 {
		path = append(path, p)
		p = ancestor[p]
	}
	for i := len(path) - 1; i >= 0; i-- {
		v, above := path[i], ancestor[path[i]]
		if semi[best[above]] < semi[best[v]] {
			best[v] = best[above]
		}
		ancestor[v] = ancestor[above]
	}
	return path
}
