package holders

import "ipytracer/event"

// node is an object that was reached, or a frame, which from 3.11 on need not be an object.
type node struct {
	parent int32  // -1 for a root
	id     int32  // its number in the notes, -1 for none
	label  uint32 // index of labels
	kind   uint8  // index of kinds
	what   uint8  // one of the node… below
	// probable: a word leads here that may be none of the references that hold the object.
	probable bool
}

const (
	nodeObject uint8 = iota
	nodeFrame        // an interpreter frame: addr is not an object's
	nodePart         // a part of another node, which has looked into it
)

var kinds = [...]event.HolderKind{
	event.HeldByVariable, event.HeldByOutput, event.HeldByTraceback, event.HeldByThread, event.HeldByModule,
	event.HeldByCycle,
	event.HeldByNone,
}

const (
	kindVariable = iota
	kindOutput
	kindTraceback
	kindThread
	kindModule
	kindCycle
	kindNone
)

// edge is a reference that is followed later.
type edge struct {
	to     uint64
	label  label
	parent int32
	kind   uint8 // of the root, where there is no parent: of doubts only
}

// reach has the nodes that a walk has reached: one for each object, by its address.
type reach struct {
	*types
	room   room
	nodes  []node
	addrs  []uint64 // of the nodes
	labels []label
	index  table    // of those that are not in the notes
	of     []int32  // the node of each object of the notes, from 1 on; 0 for none
	names  []string // of roots
	kind   uint8    // of the roots at work
}

func newReach(t *types) reach { return reach{types: t, labels: firstLabels()} }

// known returns the node at an address.
func (r *reach) known(addr uint64) (n int32, ok bool) {
	if r.notes != nil {
		if id, ok := r.notes.index.get(addr, r.notes.addrs); ok {
			return r.of[id] - 1, r.of[id] != 0
		}
	}
	return r.index.get(addr, r.addrs)
}

// numberOf returns the number that an object has in the notes, -1 for none.
func (r *reach) numberOf(addr uint64) int32 {
	if r.notes != nil {
		if found, ok := r.notes.index.get(addr, r.notes.addrs); ok {
			return found
		}
	}
	return -1
}

// make makes a node.
func (r *reach) make(from int32, addr uint64, id int32, l label, what uint8) int32 {
	n := int32(len(r.addrs))
	if int(n) >= min(r.limits.Objects, maxIndex) {
		r.stopped = errObjects
		return -1
	}
	r.put(from, addr, id, l, what)
	if id >= 0 {
		r.of[id] = n + 1
	} else {
		r.index.put(addr, n, r.addrs)
	}
	return n
}

// put makes a node that is found by its number only.
func (r *reach) put(from int32, addr uint64, id int32, l label, what uint8) {
	kind, probable := r.kind, false
	if from >= 0 {
		kind, probable = r.nodes[from].kind, r.nodes[from].probable
	}
	r.addrs = append(r.addrs, addr)
	r.nodes = append(r.nodes, node{from, id, r.keep(l), kind, what, probable})
}

// rootLabel names a root, and returns the label of its target.
func (r *reach) rootLabel(name string) label {
	r.names = append(r.names, name)
	return label{labelRoot, uint64(len(r.names) - 1)}
}

// firstLabels are those that need not be kept again and again.
func firstLabels() []label {
	all := []label{{}, {kind: labelLater}}
	for i := range fixed {
		all = append(all, named(uint64(i)))
	}
	return all
}

// keep keeps a label, and returns its place.
func (r *reach) keep(l label) uint32 {
	switch l.kind {
	case labelNothing:
		return 0
	case labelLater:
		return 1
	case labelFixed:
		return 2 + uint32(l.arg)
	}
	r.labels = append(r.labels, l)
	return uint32(len(r.labels) - 1)
}

// room is the memory in which a walker of a survey has its nodes: parts that are not needed any more are to go at once.
type room struct{ nodes, addrs, of region }

// reserve makes room for so many nodes.
func (r *reach) reserve(nodes int) {
	nodes = min(nodes+nodes/64+1024, r.limits.Objects)
	r.nodes, r.room.nodes = newRegion[node](nodes)
	r.addrs, r.room.addrs = newRegion[uint64](nodes)
}

// free gives back all that a walker has of a survey. It cannot be used any more.
func (r *reach) free() {
	r.freeNodes()
	r.addrs = nil
	r.room.addrs.free()
}

// freeNodes frees everything that only walking takes.
func (r *reach) freeNodes() {
	r.nodes, r.of, r.notes = nil, nil, nil
	r.room.nodes.free()
	r.room.of.free()
}
