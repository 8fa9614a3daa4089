package holders

import "ipytracer/internal/python/cpython"

// add makes a node.
func (s *survey) add(_ int32, addr uint64, _ int32, _ label, what uint8) int32 {
	n := int32(len(s.addrs))
	const perObject = 3 // leaves are counted as well
	if int(n) >= min(perObject*s.limits.Objects, roomObjects, maxIndex) {
		s.stopped = errObjects
		return -1
	}
	s.addrs = append(s.addrs, addr)
	s.index.put(addr, n, s.addrs)
	s.noteNode(n, what)
	return n
}

// visitQueue looks into every node that waits, and into those that are reached from there.
func (s *survey) visitQueue() {
	s.look()
	for len(s.waiting) > 0 && !s.done() {
		n := s.waiting[len(s.waiting)-1]
		s.waiting = s.waiting[:len(s.waiting)-1]
		s.visit(n)
		s.look()
	}
}

// noteNode takes in a node that a survey has just made.
func (s *survey) noteNode(n int32, what uint8) {
	one := noted{first: unnoted}
	if what != nodePart {
		s.waiting = append(s.waiting, n)
	}
	if what == nodeFrame {
		s.isFrame[n] = true
	} else {
		if t := s.objectType(s.addrs[n]); t != nil {
			before := s.recording
			s.recording = false
			one = s.describeNode(s.addrs[n], t, n)
			s.recording = before
		}
	}
	s.notes.noted = append(s.notes.noted, one)
}

func (s *survey) describeNode(addr uint64, t *typ, n int32) noted {
	notes := s.notes
	if t.number == 0 {
		if len(notes.types) == 0 {
			notes.types = append(notes.types, nil)
		}
		t.number = uint32(len(notes.types))
		notes.types = append(notes.types, t)
	}
	one := noted{references: uint32(s.references(addr)), what: t.number, first: unnoted}
	if t.shape == shapeLeaf {
		one.what |= noteLeaf
	} else if t.shape == shapeType || t.shape == shapeFunction || t.name == lruCache {
		if s.leadsOut(addr, t) {
			one.what |= noteOut
		}
	}
	if s.sizes != nil {
		bytes, known := s.measure(addr, t)
		if one.bytes = uint32(bytes); bytes >= tooLarge {
			one.bytes, notes.large[n] = tooLarge, bytes
		}
		if !known {
			one.what |= noteUnknown
		}
	}
	return one
}

// isLarge reports whether an object has so many references that each walk reads them itself: noting those of a list of
// millions of strings would take more memory than all the rest.
func (s *survey) isLarge(addr uint64, t *typ) bool {
	const most, used = 1 << 12, 16
	switch t.shape {
	case shapeList:
		return s.mem.word(addr+uint64(s.heap.ListSize)) > most
	case shapeTuple:
		return s.mem.word(addr+uint64(s.heap.VarSize)) > most
	case shapeDict:
		return s.mem.word(addr+used) > most
	case shapeSet:
		return s.mem.word(addr+cpython.SetMask) > most
	case shapeArray:
		a := ndarray{s.mem, addr}
		return a.objects() > most || a.elements() > most && len(recordsOf(&s.sizer, addr).fields) > 0
	}
	return false
}

func (s *survey) record(n int32, visit func()) {
	one := &s.notes.noted[n]
	if one.typ() == 0 || one.first != unnoted || !s.notes.types[one.typ()].recordable() {
		visit()
		return
	}
	if s.large = s.isLarge(s.addrs[n], s.notes.types[one.typ()]); s.large {
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

// array notes an array that is looked into.
func (s *survey) array(_ int32, addr, data uint64) {
	if !s.recording {
		return
	}
	s.notes.steps = append(s.notes.steps, stepArray|step(len(s.notes.arrays)))
	s.notes.arrays = append(s.notes.arrays, arrayNote{data, ndarray{s.mem, addr}.ownSpan()})
}

// arrayNoted does nothing: a survey has no notes of another.
func (s *survey) arrayNoted(int32, arrayNote) {}

func (s *survey) readsArrays() bool { return false }
