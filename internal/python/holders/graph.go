package holders

import (
	"context"

	"ipytracer/internal/python/cpython"
)

// walker goes over the objects of a process, for a [visitor].
type walker struct {
	sizer
	reach
	blockTable
	outside

	visitor
	abilities
	finished bool // the visitor has everything that it looks for

	next      int    // the first node that was not looked into
	uncounted bool   // the references that are being followed have been counted already
	hidden    bool   // the collector does not visit them
	keys      []edge // keys of dicts: a shorter way than the one with more meaning
	shell     shell  // IPython's

	frames  *frames
	pieces  *pieces
	beliefs *beliefs
}

// newWalker returns a walker that looks for the holders of blocks. It knows of no survey.
func newWalker(ctx context.Context, heap cpython.Heap, mem *memory, blocks []Block, limits Limits) *walker {
	return walkerOf(newReader(heap, newBudget(ctx, mem, limits)), newBlockTable(blocks))
}

func walkerOf(r reader, blocks blockTable) *walker {
	w := &walker{
		sizer: sizer{reader: r}, blockTable: blocks,
		reach: newReach(r.types), outside: newOutside(r),
	}
	w.frames = &frames{walker: w, at: map[int32]frame{}}
	w.pieces = &pieces{walker: w, raw: map[uint64]bool{}, awaited: map[uint64]bool{}}
	w.beliefs = &beliefs{walker: w}
	w.blockTable.all = func() { w.finished = w.over() }
	w.visitFor(newFinder(w))
	return w
}

// visitFor has a visitor decide from now on.
func (w *walker) visitFor(v visitor) {
	w.visitor, w.abilities, w.finished = v, abilitiesOf(v), v.over()
}

// done reports whether there is nothing more to find, or no more time to find it.
func (w *walker) done() bool { return w.spent() || w.finished }

// follow takes a reference that a node holds. It reports whether that led to an object.
func (w *walker) follow(from int32, to uint64, l label) bool {
	return w.refer(from, to, stepFollow, l)
}

// chase is follow for the visitors that make nodes.
func (w *walker) chase(from int32, to uint64, l label) bool {
	if w.done() || to&7 != 0 {
		return false
	}
	if w.notes != nil {
		if id, ok := w.notes.index.get(to, w.notes.addrs); ok {
			return w.followNoted(from, id, l)
		}
	}
	return w.followUnseen(from, to, l)
}

// followUnseen is follow for an object that no survey has seen.
func (w *walker) followUnseen(from int32, to uint64, l label) bool {
	if w.leaves != nil && w.leaves.alone(from, to) {
		return true
	}
	if n, ok := w.known(to); ok {
		w.count(from, n)
		return true
	}
	t := w.objectType(to)
	if t == nil {
		return false
	}
	if t.shape == shapeLeaf {
		if w.leaves != nil {
			w.leaves.leaf(from, to, t)
		}
		return true
	}
	if w.deferring && w.leadsOut(to, t) {
		w.defers(from, to, l)
		return true
	}
	w.arrived(from, w.addNew(from, to, l, nodeObject), t)
	return true
}

// arrived takes in the reference to a node that was made for it.
func (w *walker) arrived(from, n int32, t *typ) {
	w.count(from, n)
	if n >= 0 && t.shape == shapeTraceback && w.nodes[n].kind == kindModule {
		w.nodes[n].kind = kindTraceback // IPython keeps the last one too
	}
}

// note notes a step, where steps are noted.
func (w *walker) note(kind step) {
	if w.recorder != nil {
		w.recorder.step(kind)
	}
}

// once has references counted that a part of a node holds, unless that part has been looked into before.
func (w *walker) once(isNew bool, follow func()) {
	before := w.uncounted
	w.uncounted = before || !isNew
	w.note(stepOnceNew)
	follow()
	w.note(stepEnd)
	w.uncounted = before
}

// addNew makes a node of an object that may be in the notes or not.
func (w *walker) addNew(from int32, addr uint64, l label, what uint8) int32 {
	return w.add(from, addr, w.numberOf(addr), l, what)
}

// part takes an object that belongs to a node and that the node looks into itself. It is false where that was done
// before.
func (w *walker) part(of int32, addr uint64) bool {
	n, known := w.known(addr)
	if !known {
		n = w.addNew(of, addr, label{}, nodePart)
	}
	if w.recorder != nil {
		w.recorder.part(n)
	}
	w.count(of, n)
	return n >= 0 && !known
}

// run looks into every node that was reached, and into those that are reached from there.
func (w *walker) run() {
	w.visitQueue()
	for i := 0; i < len(w.keys) && !w.done(); i++ { // it grows on the way
		e := w.keys[i]
		w.follow(e.parent, e.to, e.label)
		w.visitQueue()
	}
	w.keys = nil
	w.pieces.visitFar()
}

func (w *walker) visitQueue() {
	if w.recorder != nil {
		w.recorder.visitQueue()
		return
	}
	for w.next < len(w.nodes) && !w.done() {
		n := int32(w.next)
		w.next++
		if w.nodes[n].what == nodePart {
			continue
		}
		w.visit(n)
	}
}

// flush follows the deferred references.
func (w *walker) flush() {
	w.deferring = false
	for i := 0; i < len(w.deferred) && !w.done(); i++ { // it grows on the way
		e := w.deferred[i]
		w.follow(e.parent, e.to, e.label)
		w.run()
	}
	w.deferred = nil
}

// hiding has references counted as hidden that a part of an object has, if its type hides that part.
func (w *walker) hiding(t *typ, offset uint64, follow func()) {
	before := w.hidden
	w.hidden = before || t != nil && offset < t.hides
	follow()
	w.hidden = before
}

// hides reports whether the collector does not see the reference of a node that is being followed.
func (w *walker) hides(n int32) bool {
	if w.hidden || n < 0 || w.nodes[n].what == nodeFrame {
		return w.hidden
	}
	t := w.typeOf(n)
	return t != nil && t.hides == hidesAll
}

// typeOf returns the type of a node: by the notes, or as it is now.
func (w *walker) typeOf(n int32) *typ {
	if id := w.nodes[n].id; id >= 0 && w.notes.noted[id].typ() != 0 {
		return w.notes.types[w.notes.noted[id].typ()]
	}
	return w.objectType(w.addrs[n])
}
