package walk

import (
	"slices"

	"ipytracer/event"
	"ipytracer/internal/python/holders/objects"
)

// Node is an object that was reached, or a frame, which from 3.11 on need not be an object.
type Node struct {
	Parent int32  // -1 for a root
	ID     int32  // its number in the notes, -1 for none
	Label  uint32 // index of labels
	Kind   uint8  // index of kinds
	What   uint8  // NodeObject, NodeFrame or NodePart
	// Probable is true where the path to the node has a probable reference, see beliefs.go.
	Probable bool
}

const (
	NodeObject uint8 = iota
	NodeFrame        // an interpreter frame: addr is not an object's
	NodePart         // a part of another node, with which it is looked into
)

// Kinds are the kinds of holders, by Node.Kind.
var Kinds = [...]event.HolderKind{
	event.HeldByVariable, event.HeldByOutput, event.HeldByTraceback, event.HeldByThread, event.HeldByModule,
	event.HeldByCycle,
	event.HeldByNone,
}

const (
	KindVariable = iota
	KindOutput
	KindTraceback
	KindThread
	KindModule
	KindCycle
	KindNone
)

// Frame has the known parts of a node that is a frame: its code, and the instruction it is at.
type Frame struct {
	Code uint64
	At   int64 // as cpython.Line wants it
}

// edge is a reference that is followed later.
type edge struct {
	To     uint64
	Label  Label
	Parent int32
	kind   uint8 // of the root, where there is no parent: of doubts only
}

// Reached has the nodes that a walk has reached: one for each object.
type Reached struct {
	*objects.Types
	walking, places objects.Region // of Nodes and Of; of Addrs
	Nodes           []Node
	Addrs           []uint64        // addresses, by node
	Labels          []Label         // that nodes refer to
	Index           objects.Index   // the nodes of objects that are not in the notes
	NodeOf          []int32         // by an object's number in the notes: 1 + its node, 0 for none
	Names           []string        // of roots
	Kind            uint8           // index of Kinds: the kind of the roots that are being followed
	Frames          map[int32]Frame // by node
}

func newReached(t *objects.Types) Reached {
	return Reached{Types: t, Labels: firstLabels(), Frames: map[int32]Frame{}}
}

// Known returns the node at an address.
func (r *Reached) Known(addr uint64) (n int32, ok bool) {
	if r.Notes != nil {
		if id, ok := r.Notes.Index.Get(addr, r.Notes.Addrs); ok {
			return r.NodeOf[id] - 1, r.NodeOf[id] != 0
		}
	}
	return r.Index.Get(addr, r.Addrs)
}

// numberOf returns the number that an object has in the notes, -1 for none.
func (r *Reached) numberOf(addr uint64) int32 {
	if r.Notes != nil {
		if found, ok := r.Notes.Index.Get(addr, r.Notes.Addrs); ok {
			return found
		}
	}
	return -1
}

// Make makes a node of an object that has none. It returns -1 where there is no room.
func (r *Reached) Make(from int32, addr uint64, id int32, l Label, what uint8) int32 {
	n := int32(len(r.Addrs))
	if int(n) >= min(r.Limits.Objects, objects.MaxIndex) {
		r.Stopped = objects.ErrObjects
		return -1
	}
	r.Put(from, addr, id, l, what)
	if id >= 0 {
		r.NodeOf[id] = n + 1
	} else {
		r.Index.Put(addr, n, r.Addrs)
	}
	return n
}

// Put makes a node that cannot be found by its address.
func (r *Reached) Put(from int32, addr uint64, id int32, l Label, what uint8) {
	kind, probable := r.Kind, false
	if from >= 0 {
		kind, probable = r.Nodes[from].Kind, r.Nodes[from].Probable
	}
	r.Addrs = append(r.Addrs, addr)
	r.Nodes = append(r.Nodes, Node{from, id, r.Keep(l), kind, what, probable})
}

// RootLabel returns a new label for the targets of a root with a name.
func (r *Reached) RootLabel(name string) Label {
	r.Names = append(r.Names, name)
	return Label{LabelRoot, uint64(len(r.Names) - 1)}
}

// firstLabels returns the labels that [Reached.Keep] keeps only once.
func firstLabels() []Label {
	labels := []Label{{}, {Kind: LabelLater}}
	for i := range Fixed {
		labels = append(labels, fixedLabel(uint64(i)))
	}
	return labels
}

// Keep returns the index of a label in Labels, to which it appends the label if that is necessary.
func (r *Reached) Keep(l Label) uint32 {
	switch l.Kind {
	case labelNothing:
		return 0
	case LabelLater:
		return 1
	case LabelFixed:
		return 2 + uint32(l.Arg)
	}
	r.Labels = append(r.Labels, l)
	return uint32(len(r.Labels) - 1)
}

// Reserve makes room for a number of nodes.
func (r *Reached) Reserve(nodes int) {
	nodes = min(nodes+nodes/64+1024, r.Limits.Objects)
	r.Nodes, r.Addrs = objects.Room[Node](&r.walking, nodes), objects.Room[uint64](&r.places, nodes)
}

// reserveNoted makes room for the nodes of the first count objects of the notes.
func (r *Reached) reserveNoted(count int) {
	r.NodeOf = slices.Grow(objects.Room[int32](&r.walking, count), count)[:count]
}

// Free frees the nodes and their addresses, and gives up the notes. The walker cannot be used any more.
func (r *Reached) Free() {
	r.freeNodes()
	r.Addrs = nil
	r.places.Free()
}

// freeNodes frees the nodes, and gives up the notes. The addresses remain.
func (r *Reached) freeNodes() {
	r.Nodes, r.NodeOf, r.Notes = nil, nil, nil
	r.walking.Free()
}
