package walk

// Graph is a directed graph of vertices 0 … n-1. The arcs of vertex v lead to heads[first[v]:first[v+1]].
type Graph struct {
	first, heads []int32
}

// Arcs are the arcs of a graph that is being gathered. Mostly the arcs of a tail follow each other. So only heads are
// written, and, in front of them, each tail that differs from the last, as a negative number.
type Arcs struct {
	Count int // number of arcs

	parts [][]int32 // of a fixed size: one slice would be there twice while it grows
	tail  int32     // the last tail
}

// lowestTail is the lowest tail of an arc.
const lowestTail = -1 << 24

// Add adds an arc. The tail may be negative, see [NewGraph].
func (a *Arcs) Add(tail, head int32) {
	if a.Count == 0 || tail != a.tail {
		a.tail = tail
		a.put(lowestTail - 1 - tail)
	}
	a.put(head)
	a.Count++
}

func (a *Arcs) put(v int32) {
	const size = 1 << 16
	last := len(a.parts) - 1
	if last < 0 || len(a.parts[last]) == size {
		a.parts = append(a.parts, make([]int32, 0, size))
		last++
	}
	a.parts[last] = append(a.parts[last], v)
}

// NewGraph returns the graph of n vertices with these arcs; back turns each arc round. vertexOf returns the vertex of a
// tail, which may be negative.
func NewGraph(n int, arcs Arcs, vertexOf func(tail int32) int32, back bool) Graph {
	g := Graph{make([]int32, n+1), make([]int32, arcs.Count)}
	each := func(yield func(tail, head int32)) {
		var tail int32
		for _, part := range arcs.parts {
			for _, v := range part {
				switch {
				case v < 0:
					tail = vertexOf(lowestTail - 1 - v)
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
	copy(g.first[1:], g.first[:n]) // first[v] has moved to where the arcs of v+1 begin
	g.first[0] = 0
	return g
}

// Of returns the vertices that arcs lead to from a vertex.
func (g Graph) Of(v int32) []int32 { return g.heads[g.first[v]:g.first[v+1]] }

// Order is a depth-first order of the vertices that a root reaches.
type Order struct {
	Vertex []int32 // by place: the vertex
	Place  []int32 // by vertex: its place in the order, -1 if the root does not reach it
	Parent []int32 // by place: the place of the vertex from which it was met
}

// DepthFirst returns the order from a root.
func (g Graph) DepthFirst(root int32) Order {
	n := len(g.first) - 1
	o := Order{Place: make([]int32, n), Vertex: make([]int32, 0, n), Parent: make([]int32, 0, n)}
	for v := range o.Place {
		o.Place[v] = -1
	}
	type step struct{ vertex, next int32 }
	stack := []step{{root, g.first[root]}}
	o.Place[root], o.Vertex, o.Parent = 0, append(o.Vertex, root), append(o.Parent, 0)
	for len(stack) > 0 {
		s := &stack[len(stack)-1]
		if s.next == g.first[s.vertex+1] {
			stack = stack[:len(stack)-1]
			continue
		}
		from, to := s.vertex, g.heads[s.next]
		s.next++
		if o.Place[to] < 0 {
			o.Place[to] = int32(len(o.Vertex))
			o.Vertex, o.Parent = append(o.Vertex, to), append(o.Parent, o.Place[from])
			stack = append(stack, step{to, g.first[to]})
		}
	}
	return o
}

// Dominators returns, for each vertex by its place in the order, the place of its immediate dominator: the last other
// vertex that every way from the root leads through. The algorithm is SemiNCA (Georgiadis, "Linear-Time Algorithms for
// Dominators and Related Problems", 2005). back is the graph with each arc turned round.
func (o Order) Dominators(back Graph) []int32 {
	n := len(o.Vertex)
	semi, best, dominator, ancestor := make([]int32, n), make([]int32, n), make([]int32, n), make([]int32, n)
	for i := range n {
		semi[i], best[i] = int32(i), int32(i)
		dominator[i], ancestor[i] = o.Parent[i], -1
	}
	var path []int32
	for i := int32(n - 1); i > 0; i-- {
		for _, from := range back.Of(o.Vertex[i]) {
			p := o.Place[from]
			if p < 0 {
				continue
			}
			if ancestor[p] >= 0 {
				path = compress(p, path, ancestor, best, semi)
			}
			semi[i] = min(semi[i], semi[best[p]])
		}
		ancestor[i] = o.Parent[i]
	}
	for i := int32(1); i < int32(n); i++ {
		for dominator[i] > semi[i] {
			dominator[i] = dominator[dominator[i]]
		}
	}
	return dominator
}

// compress makes the root of a vertex's tree the ancestor of each vertex on the way there. best is then the vertex with
// the least semi on that way. It returns path, to be used again.
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
