package paths

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

// OnCycles returns, of some arcs, those that are on a cycle of vertices for which let holds. parts has, for each vertex
// in the strongly connected component of such a cycle, the component's number; -1 for all others. An arc from a vertex
// to itself is a cycle.
func (g Graph) OnCycles(some *Arcs, let func(v int32) bool) (on []arc, parts []int32) {
	var arcs []arc
	var from []int32
	some.each(func(tail, head int32) {
		if tail >= 0 && let(tail) && let(head) && (tail == head || len(g.Of(head)) > 0) {
			arcs = append(arcs, arc{tail, head})
			if n := len(from); n == 0 || from[n-1] != head {
				from = append(from, head)
			}
		}
	})
	if len(arcs) == 0 {
		return nil, nil
	}
	all := g.components(from, let)
	parts = make([]int32, len(all))
	isCore := map[int32]bool{}
	for _, a := range arcs {
		if all[a.tail] >= 0 && all[a.tail] == all[a.head] {
			on = append(on, a)
			isCore[all[a.tail]] = true
		}
	}
	for v, part := range all {
		if parts[v] = part; !isCore[part] {
			parts[v] = -1
		}
	}
	return on, parts
}

// components returns, for each vertex to which the vertices from lead, the number of its strongly connected component;
// -1 for all others. Only vertices for which let holds count. It is Tarjan's algorithm (Depth-first search and linear
// graph algorithms, 1972).
func (g Graph) components(from []int32, let func(v int32) bool) (part []int32) {
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
				case !let(to):
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

// Spread gives a number to each vertex without one to which numbered vertices lead: the number of one of these.
func (g Graph) Spread(parts []int32, let func(v int32) bool) {
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
			if parts[to] < 0 && let(to) {
				parts[to] = parts[v]
				queue = append(queue, to)
			}
		}
	}
}
