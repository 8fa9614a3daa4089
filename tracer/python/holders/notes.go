package holders

import (
	"math"
	"sync/atomic"

	"ipytracer/tracer/python/cpython"
)

// notes are what a survey has seen of every object: walks that come after it need not read the memory again. Objects have
// numbers, in the order in which they were met. What most of them refer to is noted as the steps that looking into
// them takes, and taken again by replay; the others, of which more is to be found out than references, are looked into anew.
type notes struct {
	index table
	addrs []uint64
	noted []noted
	steps []step
	large map[int32]uint64 // sizes that do not fit

	regions [5]region     // of addrs, noted, steps, what a survey counts, and arrays
	sharing atomic.Int32  // 1 while a second survey uses them
	alone   chan struct{} // closed when it does no more

	containers, shared int    // objects that are no leaves, and leaves of which there is more than one reference
	types              []*typ // the first is nil
	modules            []module
	arrays             []arrayNote
	collector          collector
}

// Room for notes of a survey, of which there is no more: a process can make objects without end, and each that is noted takes some hundred bytes here.
var (
	roomObjects = 1 << 22
	roomSteps   = 1 << 24
)

func newNotes() *notes {
	n := &notes{large: map[int32]uint64{}}
	n.addrs, n.regions[0] = newRegion[uint64](roomObjects)
	n.noted, n.regions[1] = newRegion[noted](roomObjects)
	n.steps, n.regions[2] = newRegion[step](roomSteps)
	n.arrays, n.regions[4] = newRegion[arrayNote](roomObjects)
	return n
}

// share has a second survey use the notes: both must release them.
func (n *notes) share() {
	n.sharing.Add(1)
	n.alone = make(chan struct{})
}

// wait waits until no other survey uses the notes.
func (n *notes) wait() {
	if n.alone != nil {
		<-n.alone
	}
}

// release gives back what was noted, but for the types, once nobody uses it any more. A nil notes has nothing.
func (n *notes) release() {
	if n == nil {
		return
	}
	if n.sharing.Add(-1) == 0 {
		close(n.alone)
		return
	}
	n.index, n.addrs, n.noted, n.steps, n.arrays = table{}, nil, nil, nil, nil
	for i := range n.regions {
		n.regions[i].free()
	}
}

// noted is what is known of an object itself.
type noted struct {
	references uint32
	bytes      uint32 // of its own, see measure; tooLarge for one that is in large
	first      uint32 // of its steps; unnoted for none
	what       uint32 // the index of its type, 0 for no object or a frame, and the flags below
}

const (
	noteLeaf      = 1 << (iota + noteShift) // it refers to nothing
	noteUnknown                             // it may have more than its bytes
	noteOut                                 // it leads out of what a root holds, see leadsOut
	noteTracked                             // the garbage collector knows it
	noteOld                                 // it was there when the collector last looked at all objects
	noteFrozen                              // the collector leaves it alone: gc.freeze()
	noteElsewhere                           // it has more references than were found

	noteShift = 25
)

func (n *noted) typ() uint32         { return n.what & (1<<noteShift - 1) }
func (n *noted) is(flag uint32) bool { return n.what&flag != 0 }

const (
	unnoted  = math.MaxUint32
	tooLarge = math.MaxUint32
)

// step is a step in looking into an object: what kind in the upper four bits, an object's number below.
type step uint32

const (
	stepNothing  step = iota << stepShift
	stepFollow        // a reference
	stepKey           // a dict's key
	stepWord          // a word that is a reference
	stepRaw           // a word that is none; the lower half is the next step
	stepGlobals       // a function's globals
	stepCounting      // a reference that matters where references are counted only
	stepClass         // the class of an instance
	stepOnce          // until stepEnd references count if this object has not been met
	stepOnceNew       // the same, if the last part has not
	stepEnd
	stepPart  // an object that belongs to this one
	stepAlone // a leaf that nobody else has, of so many times 16 bytes
	stepStop  // the last
	stepArray // an array, by its place among the arrays
	stepState // a module has a state of its own, which each walk reads

	stepShift = 28
	stepMask  = 1<<stepShift - 1
)

func (s step) kind() step { return s &^ stepMask }
func (s step) id() int32  { return int32(s & stepMask) }

// add makes a node.
func (s *survey) add(w *walker, n int32, addr uint64, what uint8) int32 {
	const perObject = 3 // leaves are counted as well
	if int(n) >= min(perObject*w.limits.Objects, roomObjects, maxIndex) {
		w.stopped = errObjects
		return -1
	}
	w.addrs = append(w.addrs, addr)
	w.index.put(addr, n, w.addrs)
	s.note(w, n, what)
	return n
}

// visitQueue looks into every node that waits, and into those that are reached from there.
func (s *survey) visitQueue(w *walker) {
	s.look(w)
	for len(s.waiting) > 0 && !w.done() {
		n := s.waiting[len(s.waiting)-1]
		s.waiting = s.waiting[:len(s.waiting)-1]
		w.visit(n)
		s.look(w)
	}
}

// note takes in a node that a survey has just made.
func (s *survey) note(w *walker, n int32, what uint8) {
	one := noted{first: unnoted}
	if what != isDone {
		s.waiting = append(s.waiting, n)
	}
	if what == isFrame {
		s.isFrame[n] = true
	} else {
		if t := w.objectType(w.addrs[n]); t != nil {
			before := s.recording
			s.recording = false
			one = w.describeNode(w.addrs[n], t, n)
			s.recording = before
		}
	}
	s.notes.noted = append(s.notes.noted, one)
}

func (w *walker) describeNode(addr uint64, t *typ, n int32) noted {
	notes := w.survey.notes
	if t.number == 0 {
		if len(notes.types) == 0 {
			notes.types = append(notes.types, nil)
		}
		t.number = uint32(len(notes.types))
		notes.types = append(notes.types, t)
	}
	one := noted{references: uint32(w.references(addr)), what: t.number, first: unnoted}
	if t.shape == shapeLeaf {
		one.what |= noteLeaf
	} else if t.shape == shapeType || t.shape == shapeFunction || t.name == lruCache {
		if w.leadsOut(addr, t) {
			one.what |= noteOut
		}
	}
	if w.sizes != nil {
		bytes, known := w.measure(addr, t)
		if one.bytes = uint32(bytes); bytes >= tooLarge {
			one.bytes, notes.large[n] = tooLarge, bytes
		}
		if !known {
			one.what |= noteUnknown
		}
	}
	return one
}

// at returns what was noted of the object at an address, nil for nothing, and where nothing was noted at all.
func (n *notes) at(addr uint64) *noted {
	if n != nil {
		if id, ok := n.index.get(addr, n.addrs); ok && n.noted[id].typ() != 0 {
			return &n.noted[id]
		}
	}
	return nil
}

// recordable says whether looking into objects of a type takes nothing but steps.
func (t *typ) recordable() bool {
	switch t.shape {
	case shapeDict, shapeList, shapeTuple, shapeSet, shapeType, shapeModule, shapeFunction, shapeCell, shapeWeak, shapeWords, shapeArray:
		return !t.native && t.loose == 0
	}
	return false
}

// isLarge says whether an object has so many references that each walk reads them itself: noting those of a list of millions of strings
// would take more memory than all the rest.
func (w *walker) isLarge(addr uint64, t *typ) bool {
	const most, used = 1 << 12, 16
	switch t.shape {
	case shapeList:
		return w.mem.word(addr+uint64(w.heap.ListSize)) > most
	case shapeTuple:
		return w.mem.word(addr+uint64(w.heap.VarSize)) > most
	case shapeDict:
		return w.mem.word(addr+used) > most
	case shapeSet:
		return w.mem.word(addr+cpython.SetMask) > most
	case shapeArray:
		return ndarray{w.mem, addr}.objects() > most
	}
	return false
}

// record notes the steps that a visit takes.
func (s *survey) record(w *walker, n int32, visit func()) {
	one := &s.notes.noted[n]
	if one.typ() == 0 || one.first != unnoted || !s.notes.types[one.typ()].recordable() {
		visit()
		return
	}
	if s.large = w.isLarge(w.addrs[n], s.notes.types[one.typ()]); s.large {
		visit()
		s.large = false
		return
	}
	one.first = uint32(len(s.notes.steps))
	s.recording = true
	visit()
	s.recording = false
	s.notes.steps = append(s.notes.steps, stepStop)
}
