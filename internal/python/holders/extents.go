package holders

import (
	"ipytracer/internal/python/autograd"
	"ipytracer/internal/python/graphs"
)

// extents has the known memory of nodes, for a listing of variables (see [List]): how many bytes each has of its own,
// and which nodes refer to it. A name then holds alone the nodes that every reference leads to through that name: those
// that it dominates. A reference that was not seen, by the object's reference count, comes from outside and holds as
// well.
type extents struct {
	*finder
	bytes   []uint64 // of each node
	refs    []uint32 // its reference count
	seen    []uint32 // references that were seen
	unknown []bool   // it may have more than its bytes
	class   []bool   // it is a class: behind it lies code

	data   map[int32]uint64 // of nodes that are storages of tensors, or buffers of Arrow's: where their data is
	device map[int32]uint64 // and how many bytes are on a GPU
	maps   map[int32]Block  // memory maps

	tensors tensorWalk

	last []int32 // the last node that referred to each

	// emptied has the nodes with contents that code can take from them, whoever else has them: the groups, as tails of
	// arcs, that this code lets go of. No other reference to them counts.
	emptied map[int32]int32

	// lets has the attributes of classes that code takes from them, by the class and the object: the groups, likewise.
	lets map[[2]uint64]int32

	crowd *crowd           // leaves that are no nodes
	large map[int32]uint64 // bytes of nodes that are in large blocks, see leastLarge

	regions [6]region // of bytes, unknown, class; of refs, seen, last

	arcs  graphs.Arcs // references: -1 is a tail that is no node's, -2 and below are groups of names
	group int32       // the tail of references from roots

	unvisited graphs.Arcs // references that the collector does not visit
}

const (
	nobody   = -1
	immortal = 1 << 31 // a reference count that does not count, from 3.12 on
)

func newExtents(w *walker) *extents {
	e := &extents{
		finder: newFinder(w), group: nobody, crowd: newCrowd(),
		data: map[int32]uint64{}, device: map[int32]uint64{}, large: map[int32]uint64{},
		maps: map[int32]Block{},
	}
	e.tensors = tensorWalk{e: e, graph: autograd.Graph{Memory: ofProcess{w.types}}}
	return e
}

// enlarge notes bytes of a node that may be a large block.
func (e *extents) enlarge(n int32, bytes uint64) {
	if bytes >= leastLarge {
		e.large[n] += bytes
	}
}

// reserve makes room for so many nodes.
func (e *extents) reserve(nodes int) {
	nodes += nodes/64 + 1024
	e.bytes, e.regions[0] = newRegion[uint64](nodes)
	e.unknown, e.regions[1] = newRegion[bool](nodes)
	e.class, e.regions[2] = newRegion[bool](nodes)
	e.refs, e.regions[3] = newRegion[uint32](nodes)
	e.seen, e.regions[4] = newRegion[uint32](nodes)
	e.last, e.regions[5] = newRegion[int32](nodes)
}

// free gives everything back.
func (e *extents) free() {
	e.bytes, e.unknown, e.class = nil, nil, nil
	e.freeReferences()
	if e.crowd != nil {
		e.crowd.free()
	}
	for i := range e.regions {
		e.regions[i].free()
	}
}

// freeReferences frees everything that is needed until arcs are complete.
func (e *extents) freeReferences() {
	e.refs, e.seen, e.last = nil, nil, nil
	for i := range e.regions[3:] {
		e.regions[3+i].free()
	}
}

var (
	_ visitor      = (*extents)(nil)
	_ leafTaker    = (*extents)(nil)
	_ libraryTaker = (*extents)(nil)
)

func (e *extents) over() bool { return false }

// refer follows keys of dicts that refer to nothing as well: they take memory.
func (e *extents) refer(from int32, to uint64, kind step, l label) bool {
	if kind == stepKey {
		if t := e.objectType(to); t != nil && t.shape == shapeLeaf {
			return e.chase(from, to, label{})
		}
	}
	return e.finder.refer(from, to, kind, l)
}

func (e *extents) add(from int32, addr uint64, id int32, l label, what uint8) int32 {
	n := e.make(from, addr, id, l, what)
	if n >= 0 {
		e.added(n)
	}
	return n
}

// added takes in a node that has just been made.
func (e *extents) added(n int32) {
	var bytes uint64
	refs, unknown, class, ofHeap, isMap := uint32(0), false, false, false, false
	if at, addr := e.nodes[n], e.addrs[n]; at.what == nodeFrame {
	} else if at.id >= 0 && e.notes.noted[at.id].typ() != 0 {
		one := &e.notes.noted[at.id]
		t := e.notes.types[one.typ()]
		refs, bytes = one.references-ofList(t, one.references), e.notes.bytes(at.id)
		ofHeap, isMap = t.name == treeType, e.isMap(t)
		unknown, class = one.is(noteUnknown), t.shape == shapeType || t.shape == shapeModule
	} else if t := e.objectType(addr); t != nil {
		refs = uint32(e.references(addr))
		refs -= ofList(t, refs)
		ofHeap, isMap = t.name == treeType, e.isMap(t)
		size, known := e.measure(addr, t)
		bytes, unknown, class = size, !known, t.shape == shapeType || t.shape == shapeModule
	}
	e.bytes, e.refs, e.seen, e.unknown = append(e.bytes, bytes), append(e.refs, refs), append(e.seen, 0),
		append(e.unknown, unknown)
	e.class, e.last = append(e.class, class), append(e.last, nobody)
	if isMap {
		b, ok := e.mapOf(e.addrs[n])
		if ok {
			e.mapped(n, b)
		}
		e.unknown[n] = !ok && e.mem.word(e.addrs[n]+mapSize) >= leastMap
	}
	if !ofHeap { // pieces that malloc keeps, however large they are
		e.enlarge(n, bytes)
	}
}

// count takes in the references to a node.
func (e *extents) count(from, to int32) {
	if to < 0 {
		return
	}
	if !e.uncounted {
		e.seen[to]++
	}
	tail, emptied := e.emptied[to]
	if emptied && (from >= 0 || e.group != tail) {
		return
	}
	group, lets := e.letBy(from, to)
	switch {
	case lets:
		from = group
	case from < 0:
		from = e.group
	default:
		if e.unvisited.Count < maxArcs && e.hides(from) {
			e.unvisited.Add(from, to)
		}
		if e.last[to] == from {
			return
		}
		e.last[to] = from
	}
	if e.arcs.Count == maxArcs {
		e.stopped = errObjects
		return
	}
	e.arcs.Add(from, to)
}

// letBy returns the group with which code takes an object from a class, by their nodes.
func (e *extents) letBy(from, to int32) (group int32, lets bool) {
	if from >= 0 && e.lets != nil && e.class[from] {
		group, lets = e.lets[[2]uint64{e.addrs[from], e.addrs[to]}]
	}
	return group, lets
}

func (e *extents) leaf(from int32, addr uint64, t *typ) {
	switch {
	case uint32(e.references(addr)) >= immortal:
	case from >= 0 && e.crowd != nil:
		if !e.crowd.take(&e.sizer, from, addr, t) {
			e.stopped = errObjects
		}
	default:
		e.count(from, e.addNew(-1, addr, label{}, nodePart))
	}
}

func (e *extents) leafNoted(from, id int32) {
	if e.notes.noted[id].references < immortal {
		e.count(from, e.add(-1, e.notes.addrs[id], id, label{}, nodePart))
	}
}

// ownBytes takes in a part of a node that no other node has.
func (e *extents) ownBytes(n int32, bytes uint64, known bool) {
	e.bytes[n] += bytes
	e.enlarge(n, bytes)
	e.unknown[n] = e.unknown[n] || !known
}

// alone takes a leaf that no other object has for a part of the object that has it.
func (e *extents) alone(from int32, addr uint64) bool {
	if from < 0 {
		return false
	}
	t := e.objectType(addr)
	if t == nil || t.shape != shapeLeaf || uint32(e.references(addr)) != 1 {
		return false
	}
	size, known := e.measure(addr, t)
	e.ownBytes(from, size, known)
	return true
}
