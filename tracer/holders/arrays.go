package holders

// maxElements bounds the elements of an array of objects that are followed.
const maxElements = 1 << 22

// visitArray looks into a NumPy array. PyArrayObject_fields (numpy/ndarraytypes.h, NumPy 1.7 to 2): data, nd, dimensions,
// strides, base, descr, flags, weakreflist; PyArray_Descr: typeobj, kind.
func (w *walker) visitArray(n int32, addr uint64) {
	const data, nd, dimensions, base, descr, kind = 16, 24, 32, 48, 56, 24
	at := w.mem.word(addr + data)
	w.pointsAt(n, at, true)
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
	kindOf := labelIndex
	if axes != 1 {
		kindOf = labelFlat
	}
	w.visitItems(n, at, elements, kindOf)
}

// visitNative looks for blocks in what an object of a library in C or C++ has of its own on the heap: a tensor refers to
// its implementation, that to a storage, that to the block, and a tensor that was computed to what it was computed from.
// Nothing is known of these but that malloc made them: glibc's malloc has the size of each in front of it, and in
// front of the next one that this one is in use (malloc/malloc.c). What does not look so is left alone.
func (w *walker) visitNative(n int32, addr, size uint64) {
	const most = 1 << 14 // for one object
	var queue []chunk
	take := func(word uint64) {
		if len(queue) < most && len(w.raw) < w.limits.Objects && word&15 == 0 && word >= lowestAddress && word < userSpace && !w.raw[word] {
			if size := w.chunkSize(word); size > 0 {
				w.raw[word] = true
				queue = append(queue, chunk{word, size})
			}
		}
	}
	look := func(_, word uint64) bool {
		if word < lowestAddress || w.pointsAt(n, word, false) || word >= userSpace || word&7 != 0 {
			return !w.done()
		}
		if !w.follow(n, word, label{}) {
			take(word)
		}
		return !w.done()
	}
	w.mem.words(addr+16, (size-16)/8, func(_, word uint64) bool {
		if w.objectType(word&^7) == nil {
			take(word)
		}
		return !w.done()
	})
	for i := 0; i < len(queue) && !w.done(); i++ {
		w.mem.words(queue[i].addr, queue[i].size/8, look)
	}
}

// chunk is a piece of memory that malloc gave out.
type chunk struct{ addr, size uint64 }

// maxChunk is the largest piece that is looked into, in bytes.
const maxChunk = 1 << 14

// chunkSize returns how many bytes malloc gave out at an address, 0 if that was not malloc or is too large.
func (w *walker) chunkSize(addr uint64) uint64 {
	const inUse, flags, smallest = 1, 7, 32
	head := w.mem.word(addr - 8)
	size := head &^ flags
	if size < smallest || size&15 != 0 || size > maxChunk || head&2 != 0 {
		return 0
	}
	next := w.mem.word(addr - 8 + size)
	if next&inUse == 0 || next&^flags < 16 || next&8 != 0 {
		return 0
	}
	return size - 8
}

// references reads the reference count of an object: from 3.12 on it is the lower half of its word.
func (w *walker) references(addr uint64) int64 {
	return int64(uint32(w.mem.word(addr)))
}
