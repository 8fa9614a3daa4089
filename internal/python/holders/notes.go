package holders

import (
	"math"
	"sync/atomic"
)

// notes are a survey's notes of every object: walks that come after it need not read the memory again. Objects have
// numbers, in the order in which they were met. The references of most of them are noted as the steps that looking into
// them takes, and taken again by replay. The others have more than references to be found out, and are looked into
// anew.
type notes struct {
	index table
	addrs []uint64
	noted []noted
	steps []step
	large map[int32]uint64 // sizes that do not fit

	regions [5]region     // of addrs, noted, steps, the survey's counts, and arrays
	sharing atomic.Int32  // 1 while a second survey uses them
	alone   chan struct{} // closed when it does no more

	containers, shared int    // objects that are no leaves, and leaves with more than one reference
	types              []*typ // the first is nil
	modules            []module
	arrays             []arrayNote
	collector          collector
}

// Room for notes of a survey, of which there is no more: a process can make objects without end, and each that is noted
// takes some hundred bytes here.
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

// release gives back the notes, but for the types, once nothing uses them any more. A nil notes has nothing.
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

// noted is the known part of an object itself.
type noted struct {
	references uint32
	bytes      uint32 // of its own, see measure; tooLarge for one that is in large
	first      uint32 // of its steps; unnoted for none
	what       uint32 // the index of its type, 0 for no object or a frame, and the flags below
}

const (
	noteLeaf      = 1 << (iota + noteShift) // it refers to nothing
	noteUnknown                             // it may have more than its bytes
	noteOut                                 // it leads out of the objects that a root holds, see leadsOut
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

// step is a step in looking into an object: its kind in the upper four bits, an object's number below.
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
	stepAlone // a leaf that no other object has, of so many times 16 bytes
	stepStop  // the last
	stepArray // an array, by its place among the arrays
	stepState // a module has a state of its own, which each walk reads

	stepShift = 28
	stepMask  = 1<<stepShift - 1
)

func (s step) kind() step { return s &^ stepMask }
func (s step) id() int32  { return int32(s & stepMask) }

// at returns the note of the object at an address, nil for nothing, and where nothing was noted at all.
func (n *notes) at(addr uint64) *noted {
	if n != nil {
		if id, ok := n.index.get(addr, n.addrs); ok && n.noted[id].typ() != 0 {
			return &n.noted[id]
		}
	}
	return nil
}

// recordable reports whether looking into objects of a type takes nothing but steps.
func (t *typ) recordable() bool {
	switch t.shape {
	case shapeDict, shapeList, shapeTuple, shapeSet, shapeType, shapeModule, shapeFunction, shapeCell, shapeWeak,
		shapeWords, shapeArray:
		return !t.native && t.loose == 0
	}
	return false
}

func (n *notes) bytes(id int32) uint64 {
	if b := n.noted[id].bytes; b != tooLarge {
		return uint64(b)
	}
	return n.large[id]
}
