package walk

import (
	"cmp"
	"slices"

	"ipytracer/internal/python/holders/objects"
)

// noteReference notes a reference while a survey runs. The reference's target is looked at later, in the order of
// addresses: that is the fastest way to read memory. flags are those of [ahead].
func (s *census) noteReference(to uint64, kind objects.Step, flags uint64) {
	if to < objects.LowestAddress || to >= objects.UserSpace || to&aheadFlags != 0 {
		return
	}
	if len(s.notes.Steps) >= s.Limits.MostSteps() {
		s.Stopped = objects.ErrObjects
		return
	}
	step := int32(-1)
	if s.recording {
		step = int32(len(s.notes.Steps))
		if flags&aheadGuess != 0 {
			s.noteRaw(to)
		} else {
			s.notes.Steps = append(s.notes.Steps, objects.StepNothing|kind)
		}
	}
	if s.Uncounted {
		flags |= aheadUncounted
	}
	if n, ok := s.Index.Get(to, s.Addrs); ok {
		s.noteTarget(n, ahead{uint32(flags), step})
		return
	}
	if s.large && flags&aheadGuess == 0 { // the queue must not grow with the number of its references
		s.noteReferenceNow(to, flags)
		return
	}
	s.queue(to, flags, step)
}

// noteReferenceNow does what noteReference does, for an object with too many references to queue: it looks at the
// target at once. It leaves out leaves, which get notes only if other objects refer to them, too.
func (s *census) noteReferenceNow(to, flags uint64) {
	if t := s.ObjectType(to); t == nil || t.Shape == objects.ShapeLeaf {
		return
	}
	if n := s.AddNew(-1, to, Label{}, NodeObject); n >= 0 {
		s.noteTarget(n, ahead{uint32(flags), -1})
	}
}

// noteRaw notes a word that may be an address, in two steps.
func (s *census) noteRaw(word uint64) {
	s.notes.Steps = append(s.notes.Steps, objects.StepRaw|objects.Step(word>>32), objects.Step(word))
}

// noteTarget counts a reference to node n, and fills in the reference's step.
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

// visitAreas looks at the targets of all queued references, and at everything that they lead to. It goes through the
// areas in the order of addresses, again and again until no references are queued.
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

// lookInArea looks at the targets of the references that an area's queue ends with, as many as fit into a batch.
func (s *census) lookInArea(a *area) {
	first := max(0, len(a.ahead)-len(s.batch))
	batch := s.batch[:copy(s.batch[:], a.ahead[first:])]
	a.ahead = a.ahead[:first]
	slices.SortFunc(batch, func(a, b ahead) int { return cmp.Compare(a.to, b.to) })
	s.pages = s.pages[:0]
	for _, reference := range batch {
		s.pages = objects.AppendPage(s.pages, a.base+uint64(reference.to))
	}
	s.Mem.Ahead(s.pages)
	for i := 0; i < len(batch) && !s.Done(); {
		end, to := i+1, batch[i].to&^aheadFlags
		for end < len(batch) && batch[end].to&^aheadFlags == to {
			end++
		}
		s.lookAt(a.base+uint64(to), batch[i:end])
		i = end
	}
}

// queue appends a reference to the queue of its target's area.
func (s *census) queue(to, flags uint64, step int32) {
	base := to &^ (areaSize - 1)
	if s.last == nil || s.last.base != base {
		if s.last = s.areas[base]; s.last == nil {
			s.last = &area{base: base}
			s.areas[base] = s.last
		}
	}
	a := s.last
	a.ahead = append(a.ahead, ahead{uint32(to-base) | uint32(flags), step})
	if !a.queued {
		a.queued = true
		s.active = append(s.active, a)
	}
}

// lookAt makes a node of the object at an address, if there is one, and notes the references to it. Certain references
// come first: where the first is a guess, all are, and the object must look right.
func (s *census) lookAt(to uint64, references []ahead) {
	n, known := s.Index.Get(to, s.Addrs)
	if !known {
		t := s.ObjectType(to)
		onlyGuesses := references[0].to&aheadGuess != 0
		if t == nil || onlyGuesses && t.Shape != objects.ShapeLeaf && !s.IsLikely(to, t) {
			s.forget(references)
			return
		}
		if t.Shape == objects.ShapeLeaf && s.alone(to, t, references) {
			return
		}
		if n = s.AddNew(-1, to, Label{}, NodePart); n < 0 {
			return
		}
		if t.Shape != objects.ShapeLeaf {
			s.Visit(n)
		}
	}
	for _, a := range references {
		s.noteTarget(n, a)
	}
}

// alone notes only the size of a leaf to which a single object refers. It reports whether that was possible: it is not
// if other objects refer to the leaf, too, or if the size is not known or does not fit.
func (s *census) alone(addr uint64, t *objects.Type, references []ahead) bool {
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
	for _, a := range references {
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

// forget makes the steps of certain references do nothing: there is no object. A guess remains a raw word.
func (s *census) forget(references []ahead) {
	for _, a := range references {
		if a.step >= 0 && a.to&aheadGuess == 0 {
			s.notes.Steps[a.step] = objects.StepNothing
		}
	}
}
