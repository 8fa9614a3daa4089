// Package walk goes over the objects of a Python from its roots, breadth first and each object once, along the
// references that objects hold. A [Walker] finds these references, and a [Visitor] draws the conclusions. A census
// is the visitor that notes all objects and counts the references to each: [Findings] has its results, and later walks
// replay its notes.
package walk

import (
	"context"

	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/objects"
)

// Walker goes over the objects of a process, for a [Visitor].
type Walker struct {
	objects.Sizer
	Reached
	blockTable
	exits

	Visitor
	abilities
	Finished bool // the visitor has everything that it looks for

	next      int           // the first node that was not looked into
	Uncounted bool          // the references that are being followed have been counted already
	Hidden    bool          // the collector does not visit them
	Shell     objects.Shell // IPython's

	Beliefs     beliefs
	pieces      pieces
	metFrames   map[uint64]bool // frames that were looked into, where each is looked into once; nil for where not
	temporaries []temporary
}

// temporary is an evaluation stack that may be in use only in part.
type temporary struct {
	node  int32
	first uint64
}

// NewWalker returns a walker that looks for the holders of blocks. It knows of no survey.
func NewWalker(ctx context.Context, heap cpython.Heap, mem *objects.Memory, blocks []objects.Block,
	limits objects.Limits) *Walker {
	return WalkerOf(objects.NewReader(heap, objects.NewBudget(ctx, mem, limits)), NewBlockTable(blocks))
}

// WalkerOf returns a walker that reads objects with a reader, and searches for the holders of blocks.
func WalkerOf(r objects.Reader, blocks blockTable) *Walker {
	w := &Walker{
		Sizer: objects.Sizer{Reader: r}, blockTable: blocks,
		Reached: newReached(r.Types), exits: NewExits(r), pieces: newPieces(r.Limits.Objects),
	}
	w.blockTable.all = func() { w.Finished = w.Over() }
	return w
}

// EndWalk gives back everything that is needed only for walking. The walker still knows its nodes.
func (w *Walker) EndWalk() {
	w.freeNodes()
	w.Index, w.Beliefs, w.pieces = objects.Index{}, beliefs{}, pieces{}
	w.deferred, w.keys = nil, nil
}

// VisitFor has a visitor decide from now on.
func (w *Walker) VisitFor(v Visitor) {
	w.Visitor, w.abilities, w.Finished = v, abilitiesOf(v), v.Over()
}

// Done reports whether there is nothing more to find, or no more time to find it.
func (w *Walker) Done() bool { return w.Spent() || w.Finished }

// Follow takes a reference that a node holds. It reports whether that led to an object.
func (w *Walker) Follow(from int32, to uint64, l Label) bool {
	return w.Refer(from, to, objects.StepFollow, l)
}

// Reach follows a reference, for visitors that make nodes. It reports whether the reference led to an object.
func (w *Walker) Reach(from int32, to uint64, l Label) bool {
	if w.Done() || to&7 != 0 {
		return false
	}
	if w.Notes != nil {
		if id, ok := w.Notes.Index.Get(to, w.Notes.Addrs); ok {
			return w.followNoted(from, id, l)
		}
	}
	return w.followUnseen(from, to, l)
}

// followNoted is Reach for an object in the notes.
func (w *Walker) followNoted(from, id int32, l Label) bool {
	if w.Done() {
		return false
	}
	one := &w.Notes.Noted[id]
	leaf := one.Is(objects.NoteLeaf)
	if leaf && w.leaves == nil {
		return true
	}
	if leaf && from >= 0 && one.References == 1 {
		w.leaves.OwnBytes(from, w.Notes.Bytes(id), !one.Is(objects.NoteUnknown))
		return true
	}
	if n := w.Of[id]; n != 0 {
		w.Count(from, n-1)
		return true
	}
	addr := w.Notes.Addrs[id]
	t := w.Notes.TypeOf(id)
	if t == nil {
		return w.followUnseen(from, addr, l)
	}
	if leaf {
		w.leaves.LeafNoted(from, id)
		return true
	}
	if w.Deferring && w.notedOut(addr, one, t) {
		w.defers(from, addr, l)
		return true
	}
	w.arrived(from, w.Add(from, addr, id, l, NodeObject), t)
	return true
}

// followUnseen is Reach for an object without a note.
func (w *Walker) followUnseen(from int32, to uint64, l Label) bool {
	if w.leaves != nil && w.leaves.Alone(from, to) {
		return true
	}
	if n, ok := w.Known(to); ok {
		w.Count(from, n)
		return true
	}
	t := w.ObjectType(to)
	if t == nil {
		return false
	}
	if t.Shape == objects.ShapeLeaf {
		if w.leaves != nil {
			w.leaves.Leaf(from, to, t)
		}
		return true
	}
	if w.Deferring && w.LeadsOut(to, t) {
		w.defers(from, to, l)
		return true
	}
	w.arrived(from, w.AddNew(from, to, l, NodeObject), t)
	return true
}

// arrived takes in the reference to a node that was made for it.
func (w *Walker) arrived(from, n int32, t *objects.Type) {
	w.Count(from, n)
	if n >= 0 && t.Shape == objects.ShapeTraceback && w.Nodes[n].Kind == KindModule {
		w.Nodes[n].Kind = KindTraceback // IPython keeps the last one too
	}
}

// note notes a step, where steps are noted.
func (w *Walker) note(kind objects.Step) {
	if w.recorder != nil {
		w.recorder.step(kind)
	}
}

// once follows the references of a part of a node. They count unless the part was visited before.
func (w *Walker) once(isNew bool, follow func()) {
	before := w.Uncounted
	w.Uncounted = before || !isNew
	w.note(objects.StepOnceNew)
	follow()
	w.note(objects.StepEnd)
	w.Uncounted = before
}

// AddNew makes a node of an object that may be in the notes or not.
func (w *Walker) AddNew(from int32, addr uint64, l Label, what uint8) int32 {
	return w.Add(from, addr, w.numberOf(addr), l, what)
}

// AddUnreached makes nodes of the objects that the garbage collector knows and the walk has not reached, as far as
// which holds for their numbers.
func (w *Walker) AddUnreached(l Label, which func(id int32) bool) {
	for i := range w.Notes.Noted {
		id, one := int32(i), &w.Notes.Noted[i]
		if one.Is(objects.NoteTracked) && !one.Is(objects.NoteLeaf) && one.TypeNumber() != 0 && w.Of[id] == 0 &&
			which(id) {
			w.Add(-1, w.Notes.Addrs[id], id, l, NodeObject)
		}
	}
}

// Part takes an object that belongs to a node and that the node looks into itself. It is false where that was done
// before.
func (w *Walker) Part(of int32, addr uint64) bool {
	n, known := w.Known(addr)
	if !known {
		n = w.AddNew(of, addr, Label{}, NodePart)
	}
	if w.recorder != nil {
		w.recorder.part(n)
	}
	w.Count(of, n)
	return n >= 0 && !known
}

// hiding follows a part of an object. Its references count as hidden if the object's type hides that part.
func (w *Walker) hiding(t *objects.Type, offset uint64, follow func()) {
	before := w.Hidden
	w.Hidden = before || t != nil && offset < t.HiddenBefore
	follow()
	w.Hidden = before
}

// Hides reports whether the collector cannot see the reference of a node that is being followed.
func (w *Walker) Hides(n int32) bool {
	if w.Hidden || n < 0 || w.Nodes[n].What == NodeFrame {
		return w.Hidden
	}
	t := w.TypeOf(n)
	return t != nil && t.HiddenBefore == objects.HidesAll
}

// TypeOf returns the type of a node: the noted type if there is one, and else the present type.
func (w *Walker) TypeOf(n int32) *objects.Type {
	if t := w.Notes.TypeOf(w.Nodes[n].ID); t != nil {
		return t
	}
	return w.ObjectType(w.Addrs[n])
}
