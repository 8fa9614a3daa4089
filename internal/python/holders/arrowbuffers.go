package holders

// Bounds of an Arrow array's parts.
const (
	maxChunks   = 1 << 12
	maxBuffers  = 1 << 4
	deepestData = 4
)

// arrowBuffers returns the bytes of the buffers of a chunked array, or of an array: each once, wherever the memory is
// from. It is false where not all could be read. The places in the C++ objects: cpp/src/arrow/chunked_array.h (chunks),
// array/array_base.h (data behind the virtual table), array/data.h (type, length, null count, offset, buffers,
// children), buffer.h (virtual table, flags, data, size), Arrow 11 to 25.
func arrowBuffers(w *sizer, obj uint64, t *typ) (bytes uint64, known bool) {
	const data = 8
	of := w.lineage(t)
	for at := uint64(16); at+sharedSize <= min(t.basic, maxBasic); at += 8 {
		p, ok := sharedAt(w.types, at+obj)
		if !ok {
			continue
		}
		b := &buffers{w: w, seen: map[uint64]bool{}, known: true}
		switch {
		case of.is("pyarrow.lib.ChunkedArray"):
			b.vector(p.object, maxChunks, func(at uint64) {
				if array := w.mem.word(at); array != 0 {
					b.array(array+data, 0)
				}
			})
		case of.is("pyarrow.lib.Array"):
			b.array(p.object+data, 0)
		default:
			return 0, false
		}
		return b.bytes, b.known && len(b.seen) > 0
	}
	return 0, false
}

// buffers adds up buffers of Arrow's.
type buffers struct {
	w     *sizer
	seen  map[uint64]bool
	bytes uint64
	known bool
}

// vector calls do with where each shared pointer of a std::vector is, empty ones included.
func (b *buffers) vector(at uint64, most uint64, do func(at uint64)) {
	begin, end := b.w.mem.word(at), b.w.mem.word(at+8)
	if begin == 0 && end == 0 {
		return
	}
	if begin < lowestAddress || end < begin || end >= userSpace || (end-begin)%sharedSize != 0 ||
		(end-begin)/sharedSize > most {
		b.known = false
		return
	}
	for ; begin < end; begin += sharedSize {
		do(begin)
	}
}

// array takes in the buffers of an array, with data that a shared pointer at an address refers to, and of its children.
func (b *buffers) array(at uint64, depth int) {
	const lists, children, size = 40, 64, 24
	p, ok := sharedAt(b.w.types, at)
	if !ok || depth > deepestData {
		b.known = false
		return
	}
	b.vector(p.object+lists, maxBuffers, func(at uint64) {
		buffer := b.w.mem.word(at)
		if buffer == 0 || b.seen[buffer] { // an array without nulls has no bitmap
			return
		}
		n := b.w.mem.word(buffer + size)
		if n >= userSpace || len(b.seen) > maxChunks*maxBuffers {
			b.known = false
			return
		}
		b.seen[buffer] = true
		b.bytes += n
	})
	b.vector(p.object+children, maxBuffers, func(at uint64) { b.array(at, depth+1) })
}
