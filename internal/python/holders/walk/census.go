package walk

import (
	"ipytracer/internal/python/holders/objects"
)

// For a foreign type made in C nothing shows which of its words are references: one may be borrowed, or be an older
// value of that memory. Reference counts decide. A survey looks at every object there is, reachable or not, and counts
// the certain references to each: those that built-in types, slots, arrays and frames hold. If an object's reference
// count is no higher, no other word that has its address is a reference. If it is higher by at least as many as there
// are such words in objects, all of these are. Otherwise some of them are: they hold their objects probably. Words of
// memory that objects refer to, without even a known type, come after those and are never certain. Probable references
// are followed last of all.

// census counts references.
type census struct {
	*Walker
	refs    []int32 // to each node, that are certain
	guesses map[uint64]*guess
	pending []uint64 // objects that only guesses led to

	stood     func() bool    // whether the process has hardly run
	notes     *objects.Notes // that are made; the walker itself has none
	large     bool           // the object that is looked into has too many references to note them
	recording bool           // the steps that are taken
	unfilled  int32          // the place of a step whose object is not known yet, -1 for none
	waiting   []int32        // nodes that are to be looked into
	isFrame   map[int32]bool
	areas     map[uint64]*area // objects that are to be looked at, by their place
	active    []*area
	last      *area
	batch     [maxBatch]ahead
	pages     []uint64 // that a batch needs
}

// guess has the words with the address of an object.
type guess struct {
	inObjects, elsewhere map[uint64]int32 // by the object that has them: how many
}

// area is a part of the memory that is looked at together: objects refer to others near them mostly, and pages are kept
// for a while.
type area struct {
	base   uint64
	ahead  []ahead
	queued bool
}

const (
	areaSize  = 1 << 20
	maxBatch  = 1 << 12 // references that are followed at a time
	keptAhead = 1 << 10 // room for references in an area without any
)

// ahead is an object that a survey has yet to look at: its place in its area, with the flags below in the lowest bits,
// and the step that led to it.
type ahead struct {
	to   uint32
	step int32 // -1 for none
}

const (
	aheadUncounted = 1 // the reference has been counted already
	aheadGuess     = 2 // it is a reference if it looks like one
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
	of := &g.elsewhere
	if inObject {
		of = &g.inObjects
	}
	if *of == nil {
		*of = map[uint64]int32{}
	}
	(*of)[key.from]++
}
