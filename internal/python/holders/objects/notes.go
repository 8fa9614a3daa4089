package objects

import (
	"iter"
	"math"
	"sync/atomic"
)

// Notes are a survey's notes of every object: walks that come after it need not read the memory again. Objects have
// numbers, in the order in which they were met. The references of most of them are noted as the steps that looking into
// them takes, and taken again by replay. The others have more than references to be found out, and are looked into
// anew.
type Notes struct {
	Index Index
	Addrs []uint64
	Noted []Note
	Steps []Step
	Large map[int32]uint64 // sizes that do not fit

	region  Region        // of Addrs, Noted, Steps and Arrays
	sharing atomic.Int32  // 1 while a second survey uses them
	alone   chan struct{} // closed when it does no more

	Containers, Shared int     // objects that are no leaves, and leaves with more than one reference
	Types              []*Type // the first is nil
	Modules            []Module
	Arrays             []ArrayNote
	Collector          Collector
}

// Room for notes of a survey, of which there is no more: a process can make objects without end, and each that is noted
// takes some hundred bytes here.
var (
	RoomObjects = 1 << 22
	RoomSteps   = 1 << 24
)

// NewNotes returns notes without any object, with room for them.
func NewNotes() *Notes {
	n := &Notes{Large: map[int32]uint64{}, Types: []*Type{nil}}
	n.Addrs = Room[uint64](&n.region, RoomObjects)
	n.Noted = Room[Note](&n.region, RoomObjects)
	n.Steps = Room[Step](&n.region, RoomSteps)
	n.Arrays = Room[ArrayNote](&n.region, RoomObjects)
	return n
}

// Share has a second survey use the notes: both must release them.
func (n *Notes) Share() {
	n.sharing.Add(1)
	n.alone = make(chan struct{})
}

// Wait waits until no other survey uses the notes.
func (n *Notes) Wait() {
	if n.alone != nil {
		<-n.alone
	}
}

// Release gives back the notes, but for the types, once nothing uses them any more. A nil notes has nothing.
func (n *Notes) Release() {
	if n == nil {
		return
	}
	if n.sharing.Add(-1) == 0 {
		close(n.alone)
		return
	}
	n.Index, n.Addrs, n.Noted, n.Steps, n.Arrays = Index{}, nil, nil, nil, nil
	n.region.Free()
}

// Note has the known facts of an object.
type Note struct {
	References uint32
	Bytes      uint32 // of its own, see [Sizer.Measure]; TooLarge: see Large
	First      uint32 // of its steps; Unnoted for none
	What       uint32 // the index of its type, 0 for no object or a frame, and the flags below
}

const (
	NoteLeaf      = 1 << (iota + noteShift) // it refers to nothing
	NoteUnknown                             // it may have more than its bytes
	NoteOut                                 // it leads out of the objects that a root holds, see leadsOut
	NoteTracked                             // the garbage collector knows it
	NoteOld                                 // it was there when the collector last looked at all objects
	NoteFrozen                              // the collector leaves it alone: gc.freeze()
	NoteElsewhere                           // it has more references than were found

	noteShift = 25
)

// TypeNumber returns the index of the type in [Notes.Types], 0 for none.
func (n *Note) TypeNumber() uint32  { return n.What & (1<<noteShift - 1) }
func (n *Note) Is(flag uint32) bool { return n.What&flag != 0 }

const (
	Unnoted  = math.MaxUint32
	TooLarge = math.MaxUint32
)

// Step is a step in looking into an object: its kind in the upper four bits, an object's number below.
type Step uint32

const (
	StepNothing  Step = iota << stepShift
	StepFollow        // a reference
	StepKey           // a dict's key
	StepWord          // a word that is a reference
	StepRaw           // a word that is none; the lower half is the next step
	StepGlobals       // a function's globals
	StepCounting      // a reference that matters where references are counted only
	StepClass         // the class of an instance
	StepOnce          // until stepEnd references count if this object has not been met
	StepOnceNew       // the same, if the last part has not
	StepEnd
	StepPart  // an object that belongs to this one
	StepAlone // a leaf that no other object has, of so many times 16 bytes
	StepStop  // the last
	StepArray // an array, by its place among the arrays
	StepState // a module has a state of its own, which each walk reads

	stepShift = 28
	StepMask  = 1<<stepShift - 1
)

// Kind returns the kind of a step: one of the constants.
func (s Step) Kind() Step { return s &^ StepMask }
func (s Step) ID() int32  { return int32(s & StepMask) }

// At returns the note of the object at an address, nil for nothing, and where nothing was noted at all.
func (n *Notes) At(addr uint64) *Note {
	if n != nil {
		if id, ok := n.Index.Get(addr, n.Addrs); ok && n.Noted[id].TypeNumber() != 0 {
			return &n.Noted[id]
		}
	}
	return nil
}

// TypeOf returns the type of an object by its number: nil where there is no object, or none with a known type.
func (n *Notes) TypeOf(id int32) *Type {
	if id < 0 {
		return nil
	}
	return n.Types[n.Noted[id].TypeNumber()]
}

// Bytes returns how much memory an object has of its own.
func (n *Notes) Bytes(id int32) uint64 {
	if b := n.Noted[id].Bytes; b != TooLarge {
		return uint64(b)
	}
	return n.Large[id]
}

// StepsOf yields the noted steps of an object: none where looking into it was not noted. Of a word that is no reference
// it yields the first half.
func (n *Notes) StepsOf(id int32) iter.Seq[Step] {
	return func(yield func(Step) bool) {
		if n.Noted[id].First == Unnoted {
			return
		}
		for at := n.Noted[id].First; n.Steps[at].Kind() != StepStop && yield(n.Steps[at]); at++ {
			if n.Steps[at].Kind() == StepRaw {
				at++
			}
		}
	}
}
