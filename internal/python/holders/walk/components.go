package walk

// arc leads from a vertex to another.
type arc struct{ tail, head int32 }

// each calls yield with all arcs.
func (a *Arcs) each(yield func(tail, head int32)) {
	var tail int32
	for _, part := range a.parts {
		for _, v := range part {
			if v < 0 {
				tail = lowestTail - 1 - v
			} else {
				yield(tail, v)
			}
		}
	}
}

// OnCycles returns which of the candidates are on a cycle of g, through accepted vertices only. An arc from a vertex to
// itself is a cycle. parts has the number of each vertex's strongly connected component, if one of the returned arcs
// is in that component; -1 for other vertices.
func (g Graph) OnCycles(candidates *Arcs, accept func(v int32) bool) (on []arc, parts []int32) {
	var arcs []arc
	var from []int32
	candidates.each(func(tail, head int32) {
		mayBeOnCycle := tail == head || len(g.Of(head)) > 0
		if tail >= 0 && accept(tail) && accept(head) && mayBeOnCycle {
			arcs = append(arcs, arc{tail, head})
			if n := len(from); n == 0 || from[n-1] != head {
				from = append(from, head)
			}
		}
	})
	if len(arcs) == 0 {
		return nil, nil
	}
	components := g.components(from, accept)
	parts = make([]int32, len(components))
	hasArc := map[int32]bool{} // by component
	for _, a := range arcs {
		if components[a.tail] >= 0 && components[a.tail] == components[a.head] {
			on = append(on, a)
			hasArc[components[a.tail]] = true
		}
	}
	for v, part := range components {
		if parts[v] = part; !hasArc[part] {
			parts[v] = -1
		}
	}
	return on, parts
}

// components returns, for each vertex that the vertices from lead to, the number of its strongly connected component;
// -1 for other vertices. It does not go through vertices that are not accepted. The algorithm is Tarjan's (Depth-first
// search and linear graph algorithms, 1972).
func (g Graph) components(from []int32, accept func(v int32) bool) (part []int32) {
	n := len(g.first) - 1
	part = make([]int32, n)
	place, low := make([]int32, n), make([]int32, n) // places from 1 on
	for v := range part {
		part[v] = -1
	}
	type step struct{ vertex, next int32 }
	var stack []step
	var open []int32 // vertices that were met and have no component yet
	met, parts := int32(0), int32(0)
	meet := func(v int32) {
		met++
		place[v], low[v] = met, met
		stack, open = append(stack, step{v, g.first[v]}), append(open, v)
	}
	for _, root := range from {
		if place[root] == 0 {
			meet(root)
		}
		for len(stack) > 0 {
			s := &stack[len(stack)-1]
			v := s.vertex
			if s.next < g.first[v+1] {
				to := g.heads[s.next]
				s.next++
				switch {
				case !accept(to):
				case place[to] == 0:
					meet(to)
				case part[to] < 0:
					low[v] = min(low[v], place[to])
				}
				continue
			}
			stack = stack[:len(stack)-1]
			if len(stack) > 0 {
				up := stack[len(stack)-1].vertex
				low[up] = min(low[up], low[v])
			}
			if low[v] < place[v] {
				continue
			}
			for last := int32(-1); last != v; open = open[:len(open)-1] {
				last = open[len(open)-1]
				part[last] = parts
			}
			parts++
		}
	}
	return part
}

// Spread spreads the numbers of parts along arcs: a vertex without a number (-1) gets the number of a vertex that leads
// to it. Vertices that are not accepted get none.
func (g Graph) Spread(parts []int32, accept func(v int32) bool) {
	var queue []int32
	for v, part := range parts {
		if part >= 0 {
			queue = append(queue, int32(v))
		}
	}
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		for _, to := range g.Of(v) {
			if parts[to] < 0 && accept(to) {
				parts[to] = parts[v]
				queue = append(queue, to)
			}
		}
	}
}
