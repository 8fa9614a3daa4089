package variables

import (
	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/paths"
	"ipytracer/internal/python/holders/walk"
)

// tree has the nodes that each node or group holds alone.
type tree struct {
	paths.Order
	dominator []int32
	total     []uint64         // bytes that a vertex dominates, by its place, itself included
	unknown   []bool           // of these there may be more
	device    map[int32]uint64 // bytes on GPUs that a vertex dominates, by its place
	largest   []int32          // the vertex among these that has the most of its own
	nodes     int              // vertices from here on are groups, the last is the root
	forward   paths.Graph
}

// dominate finds out which nodes each holds alone, with so many groups. The last group has the objects that wait for
// the garbage collector: it is found among the nodes from loose on, that no name led to.
func (e *extents) dominate(groups, loose int) tree {
	nodes := len(e.bytes)
	root := int32(nodes + groups)
	named := func(tail int32) int32 {
		switch {
		case tail == nobody:
			return root
		case tail < nobody:
			return int32(nodes) - 2 - tail
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
	for _, n := range e.tensors.counted { // some were none: nothing says which
		if e.seen[n] > e.refs[n] {
			e.arcs.Add(root, n)
		}
	}
	e.freeReferences()
	t := tree{nodes: nodes, forward: paths.NewGraph(int(root)+1, e.arcs, named, false)}
	t.Order = t.forward.DepthFirst(root)
	waits := false
	lost := t.lost(e, func(v int32) bool { return int(v) >= loose && int(v) < nodes && t.Place[v] < 0 })
	for n := loose; n < nodes; n++ { // it has no references but those of others of the kind
		if t.Place[n] >= 0 {
			continue
		}
		by := int32(-1 - groups)
		if lost != nil && lost[n] >= 0 { // the collector does not come for it
			by = root
		}
		e.arcs.Add(by, int32(n))
		waits = true
	}
	if waits {
		t.forward, t.Order = paths.Graph{}, paths.Order{} // two of each take too much memory
		t.forward = paths.NewGraph(int(root)+1, e.arcs, named, false)
		t.Order = t.forward.DepthFirst(root)
	}
	back := paths.NewGraph(int(root)+1, e.arcs, named, true)
	e.arcs = paths.Arcs{}
	t.dominator = t.Dominators(back)
	t.add(e)
	return t
}

// lost returns, of some vertices, which ones stay in cycles that the collector does not see, once everything else has
// let go of them: their numbers are not negative. It is nil for none.
func (t *tree) lost(e *extents, some func(v int32) bool) []int32 {
	_, parts := t.forward.OnCycles(&e.unvisited, some)
	if parts != nil {
		t.forward.Spread(parts, some)
	}
	return parts
}

// keepArcs frees everything but the arcs.
func (t *tree) keepArcs() {
	t.Vertex, t.Parent, t.dominator, t.total, t.unknown, t.largest, t.device = nil, nil, nil, nil, nil, nil, nil
}

// add adds up what each vertex dominates, from the leaves on.
func (t *tree) add(e *extents) {
	count := len(t.Vertex)
	t.total, t.unknown, t.largest = make([]uint64, count), make([]bool, count), make([]int32, count)
	t.device = map[int32]uint64{}
	own := func(v int32) uint64 {
		if int(v) < t.nodes {
			return e.bytes[v]
		}
		return 0
	}
	for i := count - 1; i >= 0; i-- {
		v := t.Vertex[i]
		t.total[i] += own(v)
		if int(v) < t.nodes {
			t.unknown[i] = t.unknown[i] || e.unknown[v]
		}
		if own(v) >= own(t.largestOf(i)) {
			t.largest[i] = v + 1
		}
		if i == 0 {
			break
		}
		d := t.dominator[i]
		if int(v) < t.nodes && e.device[v] > 0 {
			t.device[int32(i)] += e.device[v]
		}
		if t.device[int32(i)] > 0 {
			t.device[d] += t.device[int32(i)]
		}
		t.total[d] += t.total[i]
		t.unknown[d] = t.unknown[d] || t.unknown[i]
		if t.largest[d] == 0 || own(t.largestOf(i)) > own(t.largestOf(int(d))) {
			t.largest[d] = t.largest[i]
		}
	}
}

// largestOf is the vertex with the most of its own among those that the one at a place dominates; itself if nothing is
// known yet.
func (t *tree) largestOf(place int) int32 {
	if t.largest[place] == 0 {
		return t.Vertex[place]
	}
	return t.largest[place] - 1
}

// settle makes a node for the leaves that the same objects have, and one for those of them that something else has as
// well. Many sets of many objects would make more references than there is room for: the rest counts as held by
// something else.
func (e *extents) settle() {
	c := e.crowd
	type whole struct {
		bytes uint64
		first uint64
	}
	c.first = int32(len(e.bytes))
	defer func() { c.end = int32(len(e.bytes)) }()
	sums := make([][2]whole, len(c.sets))
	for i, one := range c.all {
		held := 0
		if one.left > 0 {
			held = 1
		}
		s := &sums[one.set][held]
		if s.bytes += uint64(one.Bytes); s.first == 0 {
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
				if e.arcs.Count >= paths.MaxArcs {
					e.Stopped, e.refs[n] = objects.ErrObjects, 1
					break
				}
				e.arcs.Add(from, n)
			}
		}
	}
	e.crowd = nil
}
