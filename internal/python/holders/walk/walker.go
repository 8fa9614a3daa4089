// Package walk goes over the objects of a Python from its roots. It goes breadth first, to each object once, along the
// references that objects hold. A [Walker] finds these references, and a [Visitor] draws the conclusions. A census is
// the visitor that notes all objects and counts the references to each: [Findings] has its results, and later walks
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

	next      int  // the first node that was not looked into
	Uncounted bool // the references that are being followed have been counted already
	Hidden    bool // the collector does not visit the references that are being followed
	Shell     objects.Shell

	Beliefs     beliefs
	pieces      pieces
	metFrames   map[uint64]bool // frames that were looked into, if each may be looked into only once; else nil
	temporaries []temporary
}

// temporary is the evaluation stack of a frame that executes. How much of the stack is in use is not known.
type temporary struct {
	node  int32  // the frame
	first uint64 // the address of the lowest value
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
	w.blockTable.onAllFound = func() { w.Finished = w.Over() }
	return w
}

// EndWalk frees everything that only walking needs, Nodes included. The addresses and labels of the nodes remain.
func (w *Walker) EndWalk() {
	w.freeNodes()
	w.Index, w.Beliefs, w.pieces = objects.Index{}, beliefs{}, pieces{}
	w.deferred, w.keys = nil, nil
}

// VisitFor sets the visitor.
func (w *Walker) VisitFor(v Visitor) {
	w.Visitor, w.abilities, w.Finished = v, abilitiesOf(v), v.Over()
}

// Done reports whether there is nothing more to find, or no more time to find it.
func (w *Walker) Done() bool { return w.Spent() || w.Finished }

// Follow passes a reference that a node holds to the visitor. It reports whether the reference led to an object.
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
	note := &w.Notes.Noted[id]
	leaf := note.Is(objects.NoteLeaf)
	if leaf && w.leaves == nil {
		return true
	}
	if leaf && from >= 0 && note.References == 1 {
		w.leaves.OwnBytes(from, w.Notes.Bytes(id), !note.Is(objects.NoteUnknown))
		return true
	}
	if n := w.NodeOf[id]; n != 0 {
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
	if w.Deferring && w.notedOut(addr, note, t) {
		w.deferReference(from, addr, l)
		return true
	}
	w.countArrival(from, w.Add(from, addr, id, l, NodeObject), t)
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
		w.deferReference(from, to, l)
		return true
	}
	w.countArrival(from, w.AddNew(from, to, l, NodeObject), t)
	return true
}

// countArrival counts the reference for which node n was made. It also corrects the kind of a traceback that IPython
// keeps.
func (w *Walker) countArrival(from, n int32, t *objects.Type) {
	w.Count(from, n)
	if n >= 0 && t.Shape == objects.ShapeTraceback && w.Nodes[n].Kind == KindModule {
		w.Nodes[n].Kind = KindTraceback
	}
}

// noteStep notes a step, if the visitor notes steps.
func (w *Walker) noteStep(kind objects.Step) {
	if w.recorder != nil {
		w.recorder.step(kind)
	}
}

// countIfNew follows the references of a part of a node. They are counted if the part is new, and has not been visited
// before.
func (w *Walker) countIfNew(isNew bool, follow func()) {
	before := w.Uncounted
	w.Uncounted = before || !isNew
	w.noteStep(objects.StepOnceNew)
	follow()
	w.noteStep(objects.StepEnd)
	w.Uncounted = before
}

// AddNew makes a node of an object, with the object's number if the notes have one.
func (w *Walker) AddNew(from int32, addr uint64, l Label, what uint8) int32 {
	return w.Add(from, addr, w.numberOf(addr), l, what)
}

// AddUnreached makes nodes of the objects that the garbage collector knows and the walk has not reached, if wanted
// accepts their numbers.
func (w *Walker) AddUnreached(l Label, wanted func(id int32) bool) {
	for i := range w.Notes.Noted {
		id, note := int32(i), &w.Notes.Noted[i]
		isContainer := !note.Is(objects.NoteLeaf) && note.TypeNumber() != 0
		if isContainer && note.Is(objects.NoteTracked) && w.NodeOf[id] == 0 && wanted(id) {
			w.Add(-1, w.Notes.Addrs[id], id, l, NodeObject)
		}
	}
}

// Part makes a node of an object that belongs to another node, its owner, such as the dict of a module. The visit of
// the owner follows the part's references. Part reports whether the node is new.
func (w *Walker) Part(owner int32, addr uint64) (isNew bool) {
	n, known := w.Known(addr)
	if !known {
		n = w.AddNew(owner, addr, Label{}, NodePart)
	}
	if w.recorder != nil {
		w.recorder.part(n)
	}
	w.Count(owner, n)
	return n >= 0 && !known
}

// withHidden runs follow, which follows the references at an offset of an object. They count as hidden if the object's
// type hides that offset.
func (w *Walker) withHidden(t *objects.Type, offset uint64, follow func()) {
	before := w.Hidden
	w.Hidden = before || t != nil && offset < t.HiddenBefore
	follow()
	w.Hidden = before
}

// Hides reports whether the collector cannot see the reference of node n that is being followed. n is -1 for a root.
func (w *Walker) Hides(n int32) bool {
	if w.Hidden {
		return true
	}
	if n < 0 || w.Nodes[n].What == NodeFrame {
		return false
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
