package holders

import (
	"cmp"
	"slices"
)

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

// take takes a reference in while a survey runs. Its target is looked at later, in the order of addresses: that is how
// memory is read fastest.
func (s *survey) take(to uint64, kind step, flags uint64) {
	if to < lowestAddress || to >= userSpace || to&aheadFlags != 0 {
		return
	}
	at := int32(-1)
	if len(s.notes.steps) >= roomSteps {
		s.stopped = errObjects
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
	if s.uncounted {
		flags |= aheadUncounted
	}
	if n, ok := s.index.get(to, s.addrs); ok {
		s.arrive(n, ahead{uint32(flags), at})
		return
	}
	if s.large && flags&aheadGuess == 0 { // the objects that wait must not grow with it
		s.takeNow(to, flags)
		return
	}
	s.later(to, flags, at)
}

// takeNow is take for an object that is looked at at once.
func (s *survey) takeNow(to, flags uint64) {
	if t := s.objectType(to); t == nil || t.shape == shapeLeaf { // another object that has it notes it
		return
	}
	if n := s.addNew(-1, to, label{}, nodeObject); n >= 0 {
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
		s.counts(n)
	}
	switch {
	case a.step < 0:
	case a.to&aheadGuess != 0:
		s.notes.steps[a.step], s.notes.steps[a.step+1] = stepWord|step(n), stepNothing
	default:
		s.notes.steps[a.step] |= step(n)
	}
}

// look looks at everything that references led to, and at everything that is found there: one area after another, and
// of each all that is known of by then.
func (s *survey) look() {
	for len(s.active) > 0 && !s.done() {
		sweep := s.active
		s.active = nil
		slices.SortFunc(sweep, func(a, b *area) int { return cmp.Compare(a.base, b.base) })
		for _, a := range sweep {
			a.queued = false
			for len(a.ahead) > 0 && !s.done() {
				s.lookInArea(a)
			}
			if cap(a.ahead) > keptAhead {
				a.ahead = nil
			}
		}
	}
}

func (s *survey) lookInArea(a *area) {
	first := max(0, len(a.ahead)-len(s.batch))
	now := s.batch[:copy(s.batch[:], a.ahead[first:])]
	a.ahead = a.ahead[:first]
	slices.SortFunc(now, func(a, b ahead) int { return cmp.Compare(a.to, b.to) })
	s.pages = s.pages[:0]
	for _, one := range now {
		s.pages = appendPage(s.pages, a.base+uint64(one.to))
	}
	s.mem.ahead(s.pages)
	for i := 0; i < len(now) && !s.done(); {
		end, to := i+1, now[i].to&^aheadFlags
		for end < len(now) && now[end].to&^aheadFlags == to {
			end++
		}
		s.lookAt(a.base+uint64(to), now[i:end])
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

// lookAt takes in the references to one address, certain ones first.
func (s *survey) lookAt(to uint64, all []ahead) {
	n, known := s.index.get(to, s.addrs)
	if !known {
		t := s.objectType(to)
		if t == nil || all[0].to&aheadGuess != 0 && t.shape != shapeLeaf && !s.isLikely(to, t) {
			s.forget(all)
			return
		}
		if t.shape == shapeLeaf && s.alone(to, t, all) {
			return
		}
		if n = s.addNew(-1, to, label{}, nodePart); n < 0 {
			return
		}
		if t.shape != shapeLeaf {
			s.visit(n)
		}
	}
	for _, a := range all {
		s.arrive(n, a)
	}
}

// alone takes in a leaf that no other object has, if only its size is to be noted.
func (s *survey) alone(addr uint64, t *typ, all []ahead) bool {
	if uint32(s.references(addr)) != 1 {
		return false
	}
	bytes, known := uint64(0), true
	if s.sizes != nil {
		bytes, known = s.measure(addr, t)
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
