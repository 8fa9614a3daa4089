package objects

import (
	"iter"
	"math"
	"sync/atomic"
)

// Notes are a survey's notes of every object: later walks need not read the memory again. Objects have numbers, in the
// order in which they were met. The references of most objects are noted as steps, which later walks replay. An object
// that has more to find out than references is looked into anew.
type Notes struct {
	Index Index            // from addresses to numbers
	Addrs []uint64         // by number
	Noted []Note           // by number
	Steps []Step           // of all objects, see Note.First
	Large map[int32]uint64 // sizes that do not fit into Note.Bytes, by number

	region  Region        // of Addrs, Noted, Steps and Arrays
	sharing atomic.Int32  // 1 while a second survey uses the notes
	alone   chan struct{} // closed when the second survey has released them

	Containers, Shared int     // objects that are no leaves, and leaves with more than one reference
	Types              []*Type // by Note.TypeNumber; the first is nil
	Modules            []Module
	Arrays             []ArrayNote
	Collector          Collector
}

// The most objects and steps that a survey notes: a process can make objects without end, and each note takes some
// hundred bytes here.
var (
	RoomObjects = MaxIndex
	RoomSteps   = 1 << 26
)

// Objects that are noted for each of [Limits.Objects], as leaves are noted, too; and steps for each of these.
const perContainer, perNoted = 3, 4

// MostNoted returns how many objects a survey notes at most.
func (l *Limits) MostNoted() int { return min(perContainer*l.Objects, RoomObjects) }

// MostSteps returns how many steps a survey notes at most.
func (l *Limits) MostSteps() int { return min(perNoted*l.MostNoted(), RoomSteps) }

// NewNotes returns notes without any object, with room for those of a survey.
func NewNotes(limits Limits) *Notes {
	n := &Notes{Large: map[int32]uint64{}, Types: []*Type{nil}}
	most := limits.MostNoted()
	n.Addrs = Room[uint64](&n.region, most)
	n.Noted = Room[Note](&n.region, most)
	n.Steps = Room[Step](&n.region, limits.MostSteps())
	n.Arrays = Room[ArrayNote](&n.region, most)
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

// Release frees the notes, except for the types, once both surveys have released them. It does nothing for nil.
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
	References uint32 // the reference count
	Bytes      uint32 // of its own, see [Sizer.Measure]; TooLarge: see Notes.Large
	First      uint32 // index of its first step; Unnoted for none
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
	StepCounting      // a reference that matters only where references are counted
	StepClass         // the class of an instance
	StepOnce          // the references up to StepEnd count if this object has not been met
	StepOnceNew       // the references up to StepEnd count if the last part has not been met
	StepEnd
	StepPart  // an object that belongs to this one
	StepAlone // a leaf that no other object has; its size in units of 16 bytes
	StepStop  // the last step of the object
	StepArray // an array, by its place among the arrays
	StepState // a module has a state of its own, which each walk reads

	stepShift = 28
	StepMask  = 1<<stepShift - 1
)

// Kind returns the kind of a step: one of the constants.
func (s Step) Kind() Step { return s &^ StepMask }
func (s Step) ID() int32  { return int32(s & StepMask) }

// At returns the note of the object at an address; nil if there is none, or n is nil.
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

// StepsOf yields the noted steps of an object, none if its steps were not noted. It leaves out the second half of
// StepRaw.
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
