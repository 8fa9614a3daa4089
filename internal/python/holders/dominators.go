package holders

import (
	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/walk"
)

// tree has what each node or group holds alone: the nodes that it dominates. Vertices are the nodes, then the groups,
// then the root.
type tree struct {
	walk.Order
	dominator []int32          // by place in the order: the place of the immediate dominator
	total     []uint64         // by place: the bytes that the vertex dominates, its own included
	unknown   []bool           // by place: there may be more bytes than total
	device    map[int32]uint64 // by place: the bytes on GPUs that the vertex dominates
	largest   []int32          // by place: 1 + the dominated vertex with most bytes of its own, 0 if not known yet
	nodes     int              // number of nodes: the vertex of the first group
	forward   walk.Graph
}

// dominate finds out which nodes each vertex dominates. The last group stands for the objects that wait for the garbage
// collector: these are among the nodes from loose on, to which no name led.
func (e *extents) dominate(groups, loose int) tree {
	nodes := len(e.bytes)
	root := int32(nodes + groups)
	vertexOf := func(tail int32) int32 {
		switch {
		case tail == nobody:
			return root
		case tail < nobody:
			return int32(nodes + groupOfTail(tail))
		}
		return tail
	}
	for g := range groups {
		e.arcs.Add(root, int32(nodes+g))
	}
	for n, refs := range e.refs {
		if _, emptied := e.emptied[int32(n)]; !emptied && refs > e.seen[n] {
			e.arcs.Add(root, int32(n))
		}
	}
	for _, n := range e.tensors.counted { // more were seen than there are: it is not known which are references
		if e.seen[n] > e.refs[n] {
			e.arcs.Add(root, n)
		}
	}
	e.freeReferences()
	t := tree{nodes: nodes, forward: walk.NewGraph(int(root)+1, e.arcs, vertexOf, false)}
	t.Order = t.forward.DepthFirst(root)
	if e.addGarbage(&t, groups, loose) {
		t.forward, t.Order = walk.Graph{}, walk.Order{} // two of each take too much memory
		t.forward = walk.NewGraph(int(root)+1, e.arcs, vertexOf, false)
		t.Order = t.forward.DepthFirst(root)
	}
	back := walk.NewGraph(int(root)+1, e.arcs, vertexOf, true)
	e.arcs = walk.Arcs{}
	t.dominator = t.Dominators(back)
	t.addTotals(e)
	return t
}

// addGarbage adds an arc to each node from loose on that the root does not reach: from the last group, for which the
// garbage collector comes, or from the root, if the collector never frees the node. It reports whether it added any.
func (e *extents) addGarbage(t *tree, groups, loose int) (added bool) {
	isGarbage := func(v int32) bool { return int(v) >= loose && int(v) < t.nodes && t.Place[v] < 0 }
	lost := t.lost(e, isGarbage)
	for n := int32(loose); int(n) < t.nodes; n++ {
		if !isGarbage(n) {
			continue
		}
		tail := tailOf(groups - 1)
		if lost != nil && lost[n] >= 0 {
			tail = int32(t.nodes + groups)
		}
		e.arcs.Add(tail, n)
		added = true
	}
	return added
}

// lost finds, among some vertices, those that stay once everything else has let go of them: they are in cycles that the
// collector does not see, or these lead to them. The result is not negative for these vertices. It is nil if there are
// none.
func (t *tree) lost(e *extents, candidate func(v int32) bool) []int32 {
	_, parts := t.forward.OnCycles(&e.unvisited, candidate)
	if parts != nil {
		t.forward.Spread(parts, candidate)
	}
	return parts
}

// keepArcs frees everything except forward, Place and nodes.
func (t *tree) keepArcs() {
	t.Vertex, t.Parent, t.dominator, t.total, t.unknown, t.largest, t.device = nil, nil, nil, nil, nil, nil, nil
}

// addTotals adds up the bytes that each vertex dominates, from the leaves of the dominator tree up.
func (t *tree) addTotals(e *extents) {
	count := len(t.Vertex)
	t.total, t.unknown, t.largest = make([]uint64, count), make([]bool, count), make([]int32, count)
	t.device = map[int32]uint64{}
	own := func(v int32) uint64 {
		if int(v) < t.nodes {
			return e.bytes[v]
		}
		return 0
	}
	for i := count - 1; i >= 0; i-- { // a vertex comes behind its dominator
		v := t.Vertex[i]
		t.total[i] += own(v)
		if isNode := int(v) < t.nodes; isNode {
			t.unknown[i] = t.unknown[i] || e.unknown[v]
			if e.device[v] > 0 {
				t.device[int32(i)] += e.device[v]
			}
		}
		if own(v) >= own(t.largestOf(i)) {
			t.largest[i] = v + 1
		}
		if isRoot := i == 0; isRoot {
			break
		}
		dominator := t.dominator[i]
		if t.device[int32(i)] > 0 {
			t.device[dominator] += t.device[int32(i)]
		}
		t.total[dominator] += t.total[i]
		t.unknown[dominator] = t.unknown[dominator] || t.unknown[i]
		if t.largest[dominator] == 0 || own(t.largestOf(i)) > own(t.largestOf(int(dominator))) {
			t.largest[dominator] = t.largest[i]
		}
	}
}

// largestOf returns the vertex with most bytes of its own among those that the vertex at a place dominates; that vertex
// itself if the largest is not known yet.
func (t *tree) largestOf(place int) int32 {
	if t.largest[place] == 0 {
		return t.Vertex[place]
	}
	return t.largest[place] - 1
}

// addCrowd makes, for each set of the crowd, a node for its leaves, and another one for those of its leaves to which
// something else refers, too. If many sets of many objects have more references than there is room for, the remaining
// nodes count as held by something else.
func (e *extents) addCrowd() {
	c := e.crowd
	type sum struct {
		bytes uint64
		first uint64 // the address of the first leaf
	}
	c.first = int32(len(e.bytes))
	defer func() { c.end = int32(len(e.bytes)) }()
	sums := make([][2]sum, len(c.sets)) // index 1: something else refers to the leaves, too
	for i, l := range c.all {
		held := 0
		if l.left > 0 {
			held = 1
		}
		s := &sums[l.set][held]
		if s.bytes += uint64(l.Bytes); s.first == 0 {
			s.first = c.addrs[i]
		}
	}
	for set := range sums {
		for held, s := range sums[set] {
			if s.bytes == 0 {
				continue
			}
			n := e.AddNew(nobody, s.first, walk.Label{}, walk.NodePart)
			if n < 0 {
				break
			}
			if held == 0 {
				c.sets[set].whole = n
			}
			e.bytes[n], e.refs[n], e.seen[n], e.unknown[n], e.class[n] = s.bytes, uint32(held), 0, false, false
			for from := range c.nodes(int32(set)) {
				if e.arcs.Count >= walk.MaxArcs {
					e.Stopped, e.refs[n] = objects.ErrObjects, 1
					break
				}
				e.arcs.Add(from, n)
			}
		}
	}
	e.crowd = nil
}
