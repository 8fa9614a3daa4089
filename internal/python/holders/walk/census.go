package walk

import (
	"ipytracer/internal/python/holders/objects"
)

// census is the visitor that notes all objects and counts the references to each. It judges uncertain words by the
// counts, see beliefs.go.
type census struct {
	*Walker
	refs    []int32           // the number of certain references, by node
	guesses map[uint64]*guess // the uncertain words, by the object that they have the address of
	pending []uint64          // objects that only guesses led to

	stood     func() bool      // whether the process has hardly run
	notes     *objects.Notes   // that the census makes; the walker itself has none
	large     bool             // the object that is looked into has too many references to note them
	recording bool             // steps are being noted
	unfilled  int32            // the index of a step whose object is not known yet, -1 for none
	waiting   []int32          // nodes that are to be looked into
	isFrame   map[int32]bool   // nodes that are interpreter frames
	areas     map[uint64]*area // by base
	active    []*area          // areas with queued references
	last      *area            // the area of the last queued reference
	batch     [maxBatch]ahead
	pages     []uint64 // that a batch needs
}

// guess counts the uncertain words with the address of one object, by the object that has the words or refers to their
// memory.
type guess struct {
	inObjects map[uint64]int32 // words in the object itself
	elsewhere map[uint64]int32 // words in memory that the object refers to
}

// area is a part of the address space. The targets in an area are looked at together, as pages are kept for a while and
// objects mostly refer to others near them.
type area struct {
	base   uint64
	ahead  []ahead
	queued bool // it is in census.active
}

const (
	areaSize  = 1 << 20
	maxBatch  = 1 << 12 // references that are followed at a time
	keptAhead = 1 << 10 // the largest capacity that an area without references keeps
)

// ahead is a reference whose target a survey has yet to look at.
type ahead struct {
	to   uint32 // the target's offset in its area, with the flags below in the lowest bits
	step int32  // the index of the reference's step, -1 for none
}

const (
	aheadUncounted = 1 // the reference has been counted already
	aheadGuess     = 2 // the word is a reference only if its target looks like an object
	aheadFlags     = 7
)

// addReference adds a certain reference to a node.
func (s *census) addReference(n int32) {
	if n < 0 {
		return
	}
	for len(s.refs) <= int(n) {
		s.refs = append(s.refs, 0)
	}
	s.refs[n]++
}

// guessed notes a word that may be a reference, to be judged later.
func (s *census) guessed(key wordKey, inObject bool) {
	g := s.guesses[key.to]
	if g == nil {
		if len(s.guesses) >= s.Limits.Objects {
			s.Stopped = objects.ErrObjects
			return
		}
		g = &guess{}
		s.guesses[key.to] = g
		s.pending = append(s.pending, key.to)
	}
	counts := &g.elsewhere
	if inObject {
		counts = &g.inObjects
	}
	if *counts == nil {
		*counts = map[uint64]int32{}
	}
	(*counts)[key.from]++
}
