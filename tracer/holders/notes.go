package holders

import (
	"cmp"
	"math"
	"slices"
	"sync/atomic"

	"ipytracer/tracer/cpython"
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

	regions [4]region     // of addrs, noted, steps, and what a survey counts
	sharing atomic.Int32  // 1 while a second survey uses them
	alone   chan struct{} // closed when it does no more

	containers, shared int    // objects that are no leaves, and leaves of which there is more than one reference
	types              []*typ // the first is nil
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
	n.index, n.addrs, n.noted, n.steps = table{}, nil, nil, nil
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
	noteLeaf    = 1 << (iota + noteShift) // it refers to nothing
	noteUnknown                           // it may have more than its bytes
	noteOut                               // it leads out of what a root holds, see leadsOut
	noteTracked                           // the garbage collector knows it

	noteShift = 28
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

// recordable says whether looking into objects of a type takes nothing but steps.
func (t *typ) recordable() bool {
	switch t.shape {
	case shapeDict, shapeList, shapeTuple, shapeSet, shapeType, shapeModule, shapeFunction, shapeCell, shapeWeak, shapeWords:
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
	}
	return false
}

// area is a part of the memory that is looked at together: objects refer to others near them mostly, and pages are kept for a while.
type area struct {
	base   uint64
	ahead  []ahead
	queued bool
}

const (
	areaSize  = 1 << 20
	maxBatch  = 1 << 12 // references that are followed at a time
	keptAhead = 1 << 10 // references there is room for in an area where there are none
)

// ahead is an object that a survey has yet to look at: where it is in its area, with the flags below in the lowest bits, and the step that
// led to it.
type ahead struct {
	to   uint32
	step int32 // -1 for none
}

const (
	aheadUncounted = 1 // the reference has been counted already
	aheadGuess     = 2 // it is a reference if it looks like one
	aheadFlags     = 7
)

// take takes a reference in while a survey runs. What it leads to is looked at later, in the order of addresses: that is
// how memory is read fastest.
func (s *survey) take(w *walker, to uint64, kind step, flags uint64) {
	if to < lowestAddress || to >= userSpace || to&aheadFlags != 0 {
		return
	}
	at := int32(-1)
	if len(s.notes.steps) >= roomSteps {
		w.stopped = errObjects
		return
	}
	if s.recording {
		at = int32(len(s.notes.steps))
		if flags&aheadGuess != 0 {
			s.raw(to)
		} else {
			s.notes.steps = append(s.notes.steps, stepNothing|kind)
		}
	}
	if w.uncounted {
		flags |= aheadUncounted
	}
	if n, ok := w.index.get(to, w.addrs); ok {
		s.arrive(n, ahead{uint32(flags), at})
		return
	}
	if s.large && flags&aheadGuess == 0 { // what is to be looked at must not grow with it
		s.takeNow(w, to, flags)
		return
	}
	s.later(to, flags, at)
}

// takeNow is take for an object that is looked at at once.
func (s *survey) takeNow(w *walker, to, flags uint64) {
	what := isObject
	switch t := w.objectType(to); {
	case t == nil || t.shape == shapeLeaf && uint32(w.references(to)) == 1:
		return
	case t.shape == shapeLeaf:
		what = isDone
	}
	if n := w.add(-1, to, label{}, what); n >= 0 {
		s.arrive(n, ahead{uint32(flags), -1})
	}
}

// raw notes a word that may be the address of something.
func (s *survey) raw(word uint64) {
	s.notes.steps = append(s.notes.steps, stepRaw|step(word>>32), step(word))
}

// arrive notes where a reference leads.
func (s *survey) arrive(n int32, a ahead) {
	if a.to&aheadUncounted == 0 && !s.notes.noted[n].is(noteLeaf) {
		s.reference(n)
	}
	switch {
	case a.step < 0:
	case a.to&aheadGuess != 0:
		s.notes.steps[a.step], s.notes.steps[a.step+1] = stepWord|step(n), stepNothing
	default:
		s.notes.steps[a.step] |= step(n)
	}
}

// look looks at everything that references led to, and at what is found there: one area after another, and of each all that is
// known of by then.
func (s *survey) look(w *walker) {
	for len(s.active) > 0 && !w.done() {
		sweep := s.active
		s.active = nil
		slices.SortFunc(sweep, func(a, b *area) int { return cmp.Compare(a.base, b.base) })
		for _, a := range sweep {
			a.queued = false
			for len(a.ahead) > 0 && !w.done() {
				s.lookInArea(w, a)
			}
			if cap(a.ahead) > keptAhead {
				a.ahead = nil
			}
		}
	}
}

func (s *survey) lookInArea(w *walker, a *area) {
	first := max(0, len(a.ahead)-len(s.batch))
	now := s.batch[:copy(s.batch[:], a.ahead[first:])]
	a.ahead = a.ahead[:first]
	slices.SortFunc(now, func(a, b ahead) int { return cmp.Compare(a.to, b.to) })
	for i := 0; i < len(now) && !w.done(); {
		end, to := i+1, now[i].to&^aheadFlags
		for end < len(now) && now[end].to&^aheadFlags == to {
			end++
		}
		s.lookAt(w, a.base+uint64(to), now[i:end])
		i = end
	}
}

// later has a reference looked at later.
func (s *survey) later(to, flags uint64, at int32) {
	base := to &^ (areaSize - 1)
	if s.last == nil || s.last.base != base {
		if s.last = s.areas[base]; s.last == nil {
			s.last = &area{base: base}
			s.areas[base] = s.last
		}
	}
	a := s.last
	a.ahead = append(a.ahead, ahead{uint32(to-base) | uint32(flags), at})
	if !a.queued {
		a.queued = true
		s.active = append(s.active, a)
	}
}

// lookAt takes in what refers to one address, certain references first.
func (s *survey) lookAt(w *walker, to uint64, all []ahead) {
	n, known := w.index.get(to, w.addrs)
	if !known {
		t := w.objectType(to)
		if t == nil || all[0].to&aheadGuess != 0 && t.shape != shapeLeaf && !w.isLikely(to, t) {
			s.forget(all)
			return
		}
		if t.shape == shapeLeaf && s.alone(w, to, t, all) {
			return
		}
		if n = w.add(-1, to, label{}, isDone); n < 0 {
			return
		}
		if t.shape != shapeLeaf {
			w.visit(n)
		}
	}
	for _, a := range all {
		s.arrive(n, a)
	}
}

// alone takes in a leaf that nobody else has, if there is nothing more to note of it than its size.
func (s *survey) alone(w *walker, addr uint64, t *typ, all []ahead) bool {
	if uint32(w.references(addr)) != 1 {
		return false
	}
	bytes, known := uint64(0), true
	if w.sizes != nil {
		bytes, known = w.measure(addr, t)
	}
	if !known || bytes&15 != 0 || bytes>>4 > stepMask {
		return false
	}
	for _, a := range all {
		if a.step < 0 {
			continue
		}
		if a.to&aheadGuess != 0 {
			s.notes.steps[a.step+1] = stepNothing
		}
		s.notes.steps[a.step] = stepAlone | step(bytes>>4)
	}
	return true
}

// forget has steps that lead nowhere do nothing.
func (s *survey) forget(all []ahead) {
	for _, a := range all {
		if a.step >= 0 && a.to&aheadGuess == 0 {
			s.notes.steps[a.step] = stepNothing
		}
	}
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
