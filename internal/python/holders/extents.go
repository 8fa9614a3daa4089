package holders

import (
	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/walk"
)

// extents is the visitor for a listing of variables (see [listVariables]). It notes how many bytes each node has of its
// own, and which nodes refer to it. A name holds alone the nodes to which references lead only through that name: the
// nodes that it dominates. If an object's reference count is larger than the number of references that were seen, the
// unseen references come from outside and hold the object as well.
type extents struct {
	*walk.Finder
	bytes   []uint64 // by node: the bytes of its own
	refs    []uint32 // by node: its reference count
	seen    []uint32 // by node: how many references to it were seen
	unknown []bool   // by node: it may have more than its bytes
	class   []bool   // by node: it is a class or a module: code lies behind it

	data   map[int32]uint64        // by node, for storages of tensors and buffers of Arrow's: where the data is
	device map[int32]uint64        // by node, for storages of tensors: the bytes on a GPU
	maps   map[int32]objects.Block // by node: its memory map

	tensors tensorWalk

	last []int32 // by node: the last node that referred to it

	// emptied has the nodes whose contents code can remove, whoever else refers to the nodes. By node, it has the group
	// that this code lets go of, as a tail of arcs. No other reference to such a node counts.
	emptied map[int32]int32

	// lets has the attributes that code removes from classes. By the addresses of class and object, it has the group
	// that this code lets go of, as a tail of arcs.
	lets map[[2]uint64]int32

	crowd *crowd           // leaves that are no nodes
	large map[int32]uint64 // by node: its bytes in large blocks, see objects.LeastLarge

	own, references objects.Region // of bytes, unknown, class; of refs, seen, last

	arcs  walk.Arcs // references between nodes. Tail -1 is no node; tails of -2 and below are groups of names
	group int32     // the tail of references from roots

	unvisited walk.Arcs // references that the collector does not visit
}

// tailOf returns the tail of arcs that stands for a group; groupOfTail returns the group.
func tailOf(group int) int32     { return int32(-2 - group) }
func groupOfTail(tail int32) int { return int(-2 - tail) }

const (
	nobody   = -1
	immortal = 1 << 31 // the least reference count of an immortal object, from 3.12 on
)

// newExtents returns the visitor of a walker.
func newExtents(w *walk.Walker) *extents {
	e := &extents{
		Finder: walk.NewFinder(w), group: nobody, crowd: newCrowd(),
		data: map[int32]uint64{}, device: map[int32]uint64{}, large: map[int32]uint64{},
		maps: map[int32]objects.Block{},
	}
	e.tensors = tensorWalk{e: e, graph: objects.Autograd{NativeMemory: w.Types}}
	return e
}

// enlarge adds a block of a node to the node's large blocks, if the block is large.
func (e *extents) enlarge(n int32, bytes uint64) {
	if bytes >= objects.LeastLarge {
		e.large[n] += bytes
	}
}

// reserve makes room for a number of nodes.
func (e *extents) reserve(nodes int) {
	nodes += nodes/64 + 1024
	e.bytes = objects.Room[uint64](&e.own, nodes)
	e.unknown = objects.Room[bool](&e.own, nodes)
	e.class = objects.Room[bool](&e.own, nodes)
	e.refs = objects.Room[uint32](&e.references, nodes)
	e.seen = objects.Room[uint32](&e.references, nodes)
	e.last = objects.Room[int32](&e.references, nodes)
}

// free frees everything that the visitor noted.
func (e *extents) free() {
	e.bytes, e.unknown, e.class = nil, nil, nil
	e.freeReferences()
	if e.crowd != nil {
		e.crowd.free()
	}
	e.own.Free()
}

// freeReferences frees everything that is needed until arcs are complete.
func (e *extents) freeReferences() {
	e.refs, e.seen, e.last = nil, nil, nil
	e.references.Free()
}

var (
	_ walk.Visitor      = (*extents)(nil)
	_ walk.LeafTaker    = (*extents)(nil)
	_ walk.LibraryTaker = (*extents)(nil)
)

func (e *extents) Over() bool { return false }

// Refer also follows keys of dicts that refer to nothing, because they take memory.
func (e *extents) Refer(from int32, to uint64, kind objects.Step, l walk.Label) bool {
	if kind == objects.StepKey {
		if t := e.ObjectType(to); t != nil && t.Shape == objects.ShapeLeaf {
			return e.Reach(from, to, walk.Label{})
		}
	}
	return e.Finder.Refer(from, to, kind, l)
}

func (e *extents) Add(from int32, addr uint64, id int32, l walk.Label, what uint8) int32 {
	n := e.Make(from, addr, id, l, what)
	if n >= 0 {
		e.added(n)
	}
	return n
}

// added notes the memory and the reference count of a node that has just been made.
func (e *extents) added(n int32) {
	var bytes uint64
	var refs uint32
	unknown := false
	at, addr := e.Nodes[n], e.Addrs[n]
	t := e.Notes.TypeOf(at.ID)
	switch {
	case at.What == walk.NodeFrame:
		t = nil
	case t != nil:
		note := &e.Notes.Noted[at.ID]
		refs, bytes, unknown = note.References, e.Notes.Bytes(at.ID), note.Is(objects.NoteUnknown)
	default:
		if t = e.ObjectType(addr); t != nil {
			size, known := e.Measure(addr, t)
			refs, bytes, unknown = uint32(e.References(addr)), size, !known
		}
	}
	class := false
	if t != nil {
		refs -= ofList(t, refs)
		class = t.Shape == objects.ShapeType || t.Shape == objects.ShapeModule
	}
	e.bytes, e.refs, e.seen = append(e.bytes, bytes), append(e.refs, refs), append(e.seen, 0)
	e.unknown, e.class, e.last = append(e.unknown, unknown), append(e.class, class), append(e.last, nobody)
	if t == nil {
		return
	}
	if isMemoryMap(&e.Sizer, t) {
		b, ok := readMap(&e.Sizer, addr)
		if ok && len(e.maps) < maxMaps {
			e.maps[n] = b
		}
		e.unknown[n] = !ok && e.Mem.Word(addr+mapSize) >= leastMap
	}
	if t.Name != objects.TreeType { // malloc keeps the pieces of a tree, however large they are
		e.enlarge(n, bytes)
	}
}

// Count adds an arc for a reference from a node, or from the group of names that is being followed (from is -1).
func (e *extents) Count(from, to int32) {
	if to < 0 {
		return
	}
	if !e.Uncounted {
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
		if e.unvisited.Count < walk.MaxArcs && e.Hides(from) {
			e.unvisited.Add(from, to)
		}
		if e.last[to] == from {
			return
		}
		e.last[to] = from
	}
	if e.arcs.Count == walk.MaxArcs {
		e.Stopped = objects.ErrObjects
		return
	}
	e.arcs.Add(from, to)
}

// letBy returns the group of the attribute by which a class refers to an object, both given as nodes; lets is false if
// no code removes that attribute.
func (e *extents) letBy(from, to int32) (group int32, lets bool) {
	if from >= 0 && e.lets != nil && e.class[from] {
		group, lets = e.lets[[2]uint64{e.Addrs[from], e.Addrs[to]}]
	}
	return group, lets
}

func (e *extents) Leaf(from int32, addr uint64, t *objects.Type) {
	switch {
	case uint32(e.References(addr)) >= immortal:
	case from >= 0 && e.crowd != nil:
		if !e.crowd.addReference(&e.Sizer, from, addr, t) {
			e.Stopped = objects.ErrObjects
		}
	default:
		e.Count(from, e.AddNew(-1, addr, walk.Label{}, walk.NodePart))
	}
}

func (e *extents) LeafNoted(from, id int32) {
	if e.Notes.Noted[id].References < immortal {
		e.Count(from, e.Add(-1, e.Notes.Addrs[id], id, walk.Label{}, walk.NodePart))
	}
}

// OwnBytes adds bytes that no other node has to a node.
func (e *extents) OwnBytes(n int32, bytes uint64, known bool) {
	e.bytes[n] += bytes
	e.enlarge(n, bytes)
	e.unknown[n] = e.unknown[n] || !known
}

// Alone takes a leaf to which only one object refers, and counts it as a part of that object.
func (e *extents) Alone(from int32, addr uint64) bool {
	if from < 0 {
		return false
	}
	t := e.ObjectType(addr)
	if t == nil || t.Shape != objects.ShapeLeaf || uint32(e.References(addr)) != 1 {
		return false
	}
	size, known := e.Measure(addr, t)
	e.OwnBytes(from, size, known)
	return true
}

// ofList returns how many references to an object do not count, because a linked list has them: one for an entry of a
// function's bounded cache. The entry goes with the reference of the cache's dict (Modules/_functoolsmodule.c).
func ofList(t *objects.Type, references uint32) uint32 {
	if t.Name == "functools._lru_list_elem" {
		return min(references, 1)
	}
	return 0
}

// tensorWalk makes nodes of tensors, storages and nodes of graphs in C++. All of these have reference counts.
type tensorWalk struct {
	e       *extents
	graph   objects.Autograd
	waiting []waiting
	nodes   int     // number of nodes of graphs
	counted []int32 // the nodes of all objects in C++
}

// waiting is a tensor or a node of a graph that was not looked into.
type waiting struct {
	n    int32
	impl uint64
	node objects.NodePointer
}

// native counts a reference to an object in C++, and makes a node of the object if it has none. uses is the object's
// reference count.
func (e *extents) native(from int32, addr, bytes uint64, uses uint32) (n int32, isNew bool) {
	n, known := e.Known(addr)
	if !known {
		if n = e.AddNew(nobody, addr, walk.Label{}, walk.NodePart); n < 0 {
			return n, false
		}
		e.bytes[n], e.refs[n], e.unknown[n], e.class[n] = bytes, uses, false, false
	}
	e.Count(from, n)
	return n, !known
}
