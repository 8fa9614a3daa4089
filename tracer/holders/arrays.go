package holders

// maxElements bounds the elements of an array of objects that are followed.
const maxElements = 1 << 22

// visitArray looks into a NumPy array. PyArrayObject_fields (numpy/ndarraytypes.h, NumPy 1.7 to 2): data, nd, dimensions,
// strides, base, descr, flags, weakreflist; PyArray_Descr: typeobj, kind.
func (w *walker) visitArray(n int32, addr uint64) {
	const data, base = 16, 48
	at := w.mem.word(addr + data)
	if !w.pointsAt(n, at, true) && w.seeking {
		w.noteArray(n, arrayNote{at, w.ownSpan(addr)})
	}
	w.survey.array(w, addr, at)
	w.owned.array(w, addr)
	w.follow(n, w.mem.word(addr+base), named(fixedBase))
	w.visitItems(n, at, w.arrayObjects(addr), labelFlat)
}

// arrayObjects is how many elements of an array are references that it has of its own.
func (w *walker) arrayObjects(addr uint64) uint64 {
	const nd, dimensions, base, descr, kind = 24, 32, 48, 56, 24
	if k := w.mem.bytes(w.mem.word(addr+descr)+kind, 1); k == nil || k[0] != 'O' || w.mem.word(addr+base) != 0 {
		return 0
	}
	elements := uint64(1)
	dims, axes := w.mem.word(addr+dimensions), uint64(max(0, min(w.mem.int32(addr+nd), 64)))
	w.mem.words(dims, axes, func(_, length uint64) bool {
		elements *= min(length, maxElements)
		elements = min(elements, maxElements)
		return true
	})
	return elements
}

// arrayNote is what a survey notes of an array: where its data is, and how far its elements reach if it owns that, or 0.
type arrayNote struct{ data, span uint64 }

// array notes an array that is looked into. A nil survey does nothing.
func (s *survey) array(w *walker, addr, data uint64) {
	if s == nil || !s.recording {
		return
	}
	s.notes.steps = append(s.notes.steps, stepArray|step(len(s.notes.arrays)))
	s.notes.arrays = append(s.notes.arrays, arrayNote{data, w.ownSpan(addr)})
}

// references reads the reference count of an object: from 3.12 on it is the lower half of its word.
func (w *walker) references(addr uint64) int64 {
	return int64(uint32(w.mem.word(addr)))
}
