package holders

// maxElements bounds the elements of an array of objects that are followed.
const maxElements = 1 << 22

// visitArray looks into a NumPy array. PyArrayObject_fields (numpy/ndarraytypes.h, NumPy 1.7 to 2): data, nd, dimensions,
// strides, base, descr, flags, weakreflist; PyArray_Descr: typeobj, kind.
func (w *walker) visitArray(n int32, addr uint64) {
	const data, nd, dimensions, base, descr, kind = 16, 24, 32, 48, 56, 24
	at := w.mem.word(addr + data)
	if !w.pointsAt(n, at, true) {
		w.noteArray(n, addr, at)
	}
	owner := w.mem.word(addr + base)
	w.follow(n, owner, named(fixedBase))
	of := w.mem.word(addr + descr)
	if k := w.mem.bytes(of+kind, 1); k == nil || k[0] != 'O' || owner != 0 {
		return
	}
	elements := uint64(1)
	dims, axes := w.mem.word(addr+dimensions), uint64(max(0, min(w.mem.int32(addr+nd), 64)))
	w.mem.words(dims, axes, func(_, length uint64) bool {
		elements *= min(length, maxElements)
		elements = min(elements, maxElements)
		return true
	})
	w.visitItems(n, at, elements, labelFlat)
}

// references reads the reference count of an object: from 3.12 on it is the lower half of its word.
func (w *walker) references(addr uint64) int64 {
	return int64(uint32(w.mem.word(addr)))
}
