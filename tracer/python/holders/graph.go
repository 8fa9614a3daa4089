package holders

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"ipytracer/event"
	"ipytracer/tracer/python/cpython"
)

var (
	errObjects = errors.New("the limit of objects was reached")
	errTime    = errors.New("the limit of time was reached")
)

// node is an object that was reached, or a frame, which from 3.11 on need not be an object.
type node struct {
	parent int32  // -1 for a root
	id     int32  // its number in the notes, -1 for none
	label  uint32 // index of labels
	kind   uint8  // index of kinds
	what   uint8  // one of the is… below
	// probable: a word leads here that may be none of the references that hold the object.
	probable bool
}

const (
	isObject uint8 = iota
	isFrame        // an interpreter frame: addr is not an object's
	isDone         // a part of another node, which has looked into it
)

var kinds = [...]event.HolderKind{event.HeldByVariable, event.HeldByOutput, event.HeldByTraceback, event.HeldByThread, event.HeldByModule, event.HeldByCycle, event.HeldByNone}

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

// walker goes over the objects of a process.
type walker struct {
	ctx  context.Context
	heap cpython.Heap
	mem  *memory

	types    map[uint64]*typ
	recent   *recentTypes // of a survey; nil for none
	metatype uint64       // the address of type

	room  room
	notes *notes  // of a survey that was made before, nil for none
	of    []int32 // the node of each object of the notes, from 1 on; 0 for none

	nodes   []node
	addrs   []uint64 // of the nodes
	labels  []label
	index   table             // of those that are not in the notes
	next    int               // the first node that was not looked into
	raw     map[uint64]bool   // pieces of malloc that were looked into
	awaited map[uint64]bool   // pieces of malloc further away, noted to be looked into later
	classes map[uint64]string // of C++, by their virtual tables
	shared  map[uint64]bool   // counts of Arrow's objects that were looked into
	frames  map[int32]frame
	names   []string // of roots
	shell   shell    // IPython's

	temporaries []temporary
	far         []chunk
	keys        []edge // keys of dicts: a shorter way than the one that says more

	blocks          []Block  // by address
	found           []int32  // the node that has each block, or -1
	maybe           []int32  // a node that seems to, or -1
	asked           []uint64 // how many bytes of each block a tensor asked for; 0 if not known
	left            int      // blocks without a node
	seeking         bool     // arrays that are none of the blocks as well, see unseen.go
	unseen          []unseen
	lowest, highest uint64

	// deferred are references that lead out of what a root holds for itself: to modules, to the globals of functions,
	// to frames that run, to classes of instances. They are followed once all roots are.
	deferred  []edge
	deferring bool
	spaces    map[uint64]bool // the namespaces of modules
	running   map[uint64]bool // frames
	cells     map[uint64]bool // those of threads that run cells, see [Limits.Running]
	kind      uint8           // of the roots at work

	counting *counts     // references within garbage, see cycles.go
	extents  *extents    // how much memory there is, see extents.go
	sizes    *sizes      // how much an object has, see sizes.go; nil where nobody asks
	seek     *seek       // all that is looked for is one reference
	stood    func() bool // whether the process has hardly run, while a survey runs

	believed  map[guessKey]sure // words that are references, see evidence.go
	doubts    []edge            // those of them that are so probably, followed when nothing certain is left
	survey    *survey           // set while that is found out
	uncounted bool              // the references that are being followed have been counted already
	classed   map[uint64]bool   // classes that have been deferred
	named     map[uint64]bool   // the objects that a survey knows as names of modules: whether it is another than __main__

	owned *owned // the data of all arrays, see owned.go

	climbs climbs // ways to roots, see climbs.go

	limits Limits
	// A walk may take as much processor time, and patience times as long: others may need the processors.
	until    time.Duration
	deadline time.Time
	steps    int
	stopped  error
}

// patience is how many times as long as its processor time a walk may take.
const patience = 8

func newWalker(ctx context.Context, heap cpython.Heap, mem *memory, blocks []Block, limits Limits) *walker {
	w := &walker{
		ctx: ctx, heap: heap, mem: mem, types: map[uint64]*typ{}, frames: map[int32]frame{},
		spaces: map[uint64]bool{}, raw: map[uint64]bool{}, awaited: map[uint64]bool{}, classes: map[uint64]string{}, shared: map[uint64]bool{}, running: map[uint64]bool{}, limits: limits, classed: map[uint64]bool{},
		named: map[uint64]bool{}, labels: firstLabels(),
	}
	w.until, w.deadline = ProcessorTime()+limits.Time, time.Now().Add(patience*limits.Time)
	w.blocks = slices.Clone(blocks)
	slices.SortFunc(w.blocks, func(a, b Block) int { return cmp.Compare(a.Address, b.Address) })
	w.blocks = slices.CompactFunc(w.blocks, func(a, b Block) bool { return a.Address == b.Address })
	w.found = slices.Repeat([]int32{-1}, len(w.blocks))
	w.maybe = slices.Clone(w.found)
	w.asked = make([]uint64, len(w.blocks))
	w.left = len(w.blocks)
	if n := len(w.blocks); n > 0 {
		w.lowest, w.highest = w.blocks[0].Address, w.blocks[n-1].Address+w.blocks[n-1].Size
	}
	return w
}

// done says whether there is nothing more to find, or no more time to find it. It is called for every reference.
func (w *walker) done() bool {
	if w.steps++; w.steps%4096 == 0 && w.stopped == nil {
		if w.ctx.Err() != nil {
			w.stopped = w.ctx.Err()
		} else if ProcessorTime() > w.until || time.Now().After(w.deadline) {
			w.stopped = errTime
		}
	}
	if w.stopped == nil && w.mem.err != nil {
		w.stopped = w.mem.err
	}
	return w.stopped != nil || w.seek != nil && w.seek.found || w.left == 0 && !w.seeking && w.counting == nil && w.survey == nil && w.extents == nil && w.owned == nil
}

// follow takes a reference that a node holds. It says whether it led to an object.
func (w *walker) follow(from int32, to uint64, l label) bool {
	if w.seek != nil {
		w.seek.take(to, l)
		return true
	}
	if w.done() || to&7 != 0 {
		return false
	}
	if w.survey != nil {
		w.survey.take(w, to, stepFollow, 0)
		return true
	}
	if w.notes != nil {
		if id, ok := w.notes.index.get(to, w.notes.addrs); ok {
			return w.followNoted(from, id, l)
		}
	}
	return w.followUnseen(from, to, l)
}

// known returns the node at an address.
func (w *walker) known(addr uint64) (n int32, ok bool) {
	if w.notes != nil {
		if id, ok := w.notes.index.get(addr, w.notes.addrs); ok {
			return w.of[id] - 1, w.of[id] != 0
		}
	}
	return w.index.get(addr, w.addrs)
}

// followUnseen is follow for an object that no survey has seen.
func (w *walker) followUnseen(from int32, to uint64, l label) bool {
	if w.extents.alone(w, from, to) {
		return true
	}
	if n, ok := w.known(to); ok {
		w.reference(from, n)
		return true
	}
	t := w.objectType(to)
	if t == nil {
		return false
	}
	if t.shape == shapeLeaf {
		w.extents.leaf(w, from, to, t)
		return true
	}
	if w.deferring && w.leadsOut(to, t) {
		w.defer_(from, to, l)
		return true
	}
	w.arrived(from, w.add(from, to, l, isObject), t)
	return true
}

// arrived takes in the reference to a node that was made for it.
func (w *walker) arrived(from, n int32, t *typ) {
	w.reference(from, n)
	if n >= 0 && t.shape == shapeTraceback && w.nodes[n].kind == kindModule {
		w.nodes[n].kind = kindTraceback // IPython keeps the last one too
	}
}

// reference counts a reference from a node to one.
func (w *walker) reference(from, n int32) {
	w.extents.reference(w, from, n)
	if w.uncounted && (w.counting == nil || w.counting.live == nil) {
		return
	}
	w.counting.reference(n)
	w.survey.reference(n)
}

// once has references counted that a part of a node holds, unless that part has been looked into before.
func (w *walker) once(isNew bool, follow func()) {
	before := w.uncounted
	w.uncounted = before || !isNew
	w.survey.step(stepOnceNew)
	follow()
	w.survey.step(stepEnd)
	w.uncounted = before
}

// add makes a node.
func (w *walker) add(from int32, addr uint64, l label, what uint8) int32 {
	id := int32(-1)
	if w.notes != nil {
		if found, ok := w.notes.index.get(addr, w.notes.addrs); ok {
			id = found
		}
	}
	return w.addNode(from, addr, id, l, what)
}

// addNode is add for an object that has a number in the notes, or -1.
func (w *walker) addNode(from int32, addr uint64, id int32, l label, what uint8) int32 {
	n := int32(len(w.addrs))
	if w.survey != nil {
		return w.survey.add(w, n, addr, what)
	}
	if int(n) >= min(w.limits.Objects, maxIndex) {
		w.stopped = errObjects
		return -1
	}
	kind, probable := w.kind, false
	if from >= 0 {
		kind, probable = w.nodes[from].kind, w.nodes[from].probable
	}
	w.addrs = append(w.addrs, addr)
	w.nodes = append(w.nodes, node{from, id, w.keep(l), kind, what, probable})
	if id >= 0 {
		w.of[id] = n + 1
	} else if w.seek == nil {
		w.index.put(addr, n, w.addrs)
	}
	w.extents.added(w, n)
	return n
}

// part takes an object that belongs to a node and that the node looks into itself. It is false where that was done
// before.
func (w *walker) part(of int32, addr uint64) bool {
	n, known := w.known(addr)
	if !known {
		n = w.add(of, addr, label{}, isDone)
	}
	w.survey.part(n)
	w.reference(of, n)
	return n >= 0 && !known
}

// defer_ keeps a reference for later.
func (w *walker) defer_(from int32, to uint64, l label) {
	if len(w.deferred) < w.limits.Objects {
		w.deferred = append(w.deferred, edge{to: to, label: l, parent: from})
	} else {
		w.stopped = errObjects
	}
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
	w.visitFar()
}

func (w *walker) visitQueue() {
	if w.survey != nil {
		w.survey.visitQueue(w)
		return
	}
	for w.next < len(w.nodes) && !w.done() {
		n := int32(w.next)
		w.next++
		if w.nodes[n].what == isDone {
			continue
		}
		w.visit(n)
	}
}

// flush follows what was deferred.
func (w *walker) flush() {
	w.deferring = false
	for i := 0; i < len(w.deferred) && !w.done(); i++ { // it grows on the way
		e := w.deferred[i]
		w.follow(e.parent, e.to, e.label)
		w.run()
	}
	w.deferred = nil
}
