package walk

import (
	"cmp"
	"slices"

	"ipytracer/internal/python/holders/objects"
)

// noteReference takes in a reference while a survey runs. The reference's target is looked at later, in the order of
// addresses: that is the fastest way to read memory.
func (s *census) noteReference(to uint64, kind objects.Step, flags uint64) {
	if to < objects.LowestAddress || to >= objects.UserSpace || to&aheadFlags != 0 {
		return
	}
	at := int32(-1)
	if len(s.notes.Steps) >= objects.RoomSteps {
		s.Stopped = objects.ErrObjects
		return
	}
	if s.recording {
		at = int32(len(s.notes.Steps))
		if flags&aheadGuess != 0 {
			s.raw(to)
		} else {
			s.notes.Steps = append(s.notes.Steps, objects.StepNothing|kind)
		}
	}
	if s.Uncounted {
		flags |= aheadUncounted
	}
	if n, ok := s.Index.Get(to, s.Addrs); ok {
		s.noteTarget(n, ahead{uint32(flags), at})
		return
	}
	if s.large && flags&aheadGuess == 0 { // the number of objects that wait must not grow with it
		s.noteReferenceNow(to, flags)
		return
	}
	s.queue(to, flags, at)
}

// noteReferenceNow does what noteReference does, for an object with too many references to queue. It visits the targets
// at once.
func (s *census) noteReferenceNow(to, flags uint64) {
	if t := s.ObjectType(to); t == nil || t.Shape == objects.ShapeLeaf { // another object that refers to it notes it
		return
	}
	if n := s.AddNew(-1, to, Label{}, NodeObject); n >= 0 {
		s.noteTarget(n, ahead{uint32(flags), -1})
	}
}

// raw notes a word that may be the address of something.
func (s *census) raw(word uint64) {
	s.notes.Steps = append(s.notes.Steps, objects.StepRaw|objects.Step(word>>32), objects.Step(word))
}

// noteTarget notes that a reference leads to a node.
func (s *census) noteTarget(n int32, a ahead) {
	if a.to&aheadUncounted == 0 && !s.notes.Noted[n].Is(objects.NoteLeaf) {
		s.addReference(n)
	}
	switch {
	case a.step < 0:
	case a.to&aheadGuess != 0:
		s.notes.Steps[a.step], s.notes.Steps[a.step+1] = objects.StepWord|objects.Step(n), objects.StepNothing
	default:
		s.notes.Steps[a.step] |= objects.Step(n)
	}
}

// visitAreas looks at everything that references led to, and at everything that is found there. It takes one area after
// another, and in each all objects that are known by then.
func (s *census) visitAreas() {
	for len(s.active) > 0 && !s.Done() {
		sweep := s.active
		s.active = nil
		slices.SortFunc(sweep, func(a, b *area) int { return cmp.Compare(a.base, b.base) })
		for _, a := range sweep {
			a.queued = false
			for len(a.ahead) > 0 && !s.Done() {
				s.lookInArea(a)
			}
			if cap(a.ahead) > keptAhead {
				a.ahead = nil
			}
		}
	}
}

func (s *census) lookInArea(a *area) {
	first := max(0, len(a.ahead)-len(s.batch))
	now := s.batch[:copy(s.batch[:], a.ahead[first:])]
	a.ahead = a.ahead[:first]
	slices.SortFunc(now, func(a, b ahead) int { return cmp.Compare(a.to, b.to) })
	s.pages = s.pages[:0]
	for _, one := range now {
		s.pages = objects.AppendPage(s.pages, a.base+uint64(one.to))
	}
	s.Mem.Ahead(s.pages)
	for i := 0; i < len(now) && !s.Done(); {
		end, to := i+1, now[i].to&^aheadFlags
		for end < len(now) && now[end].to&^aheadFlags == to {
			end++
		}
		s.lookAt(a.base+uint64(to), now[i:end])
		i = end
	}
}

// queue notes a reference that is to be looked at later.
func (s *census) queue(to, flags uint64, at int32) {
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

// lookAt takes in the references to one address. Certain references come first.
func (s *census) lookAt(to uint64, all []ahead) {
	n, known := s.Index.Get(to, s.Addrs)
	if !known {
		t := s.ObjectType(to)
		if t == nil || all[0].to&aheadGuess != 0 && t.Shape != objects.ShapeLeaf && !s.IsLikely(to, t) {
			s.forget(all)
			return
		}
		if t.Shape == objects.ShapeLeaf && s.alone(to, t, all) {
			return
		}
		if n = s.AddNew(-1, to, Label{}, NodePart); n < 0 {
			return
		}
		if t.Shape != objects.ShapeLeaf {
			s.Visit(n)
		}
	}
	for _, a := range all {
		s.noteTarget(n, a)
	}
}

// alone notes only the size of a leaf to which no other object refers. It reports whether that was possible.
func (s *census) alone(addr uint64, t *objects.Type, all []ahead) bool {
	if uint32(s.References(addr)) != 1 {
		return false
	}
	bytes, known := uint64(0), true
	if s.Sizes != nil {
		bytes, known = s.Measure(addr, t)
	}
	if !known || bytes&15 != 0 || bytes>>4 > objects.StepMask {
		return false
	}
	for _, a := range all {
		if a.step < 0 {
			continue
		}
		if a.to&aheadGuess != 0 {
			s.notes.Steps[a.step+1] = objects.StepNothing
		}
		s.notes.Steps[a.step] = objects.StepAlone | objects.Step(bytes>>4)
	}
	return true
}

// forget replaces steps that lead nowhere by steps that do nothing.
func (s *census) forget(all []ahead) {
	for _, a := range all {
		if a.step >= 0 && a.to&aheadGuess == 0 {
			s.notes.Steps[a.step] = objects.StepNothing
		}
	}
}
