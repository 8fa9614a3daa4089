package objects

// Bounds of an Arrow array's parts.
const (
	maxChunks   = 1 << 12
	maxBuffers  = 1 << 4
	deepestData = 4
)

// ArrowBuffers returns the bytes of the buffers of a chunked array, or of an array: each once, wherever the memory is
// from. known is false where not all could be read. The places in the C++ objects: cpp/src/arrow/chunked_array.h
// (chunks), array/array_base.h (data behind the virtual table), array/data.h (type, length, null count, offset,
// buffers, children), buffer.h (virtual table, flags, data, size), Arrow 11 to 25.
func ArrowBuffers(w *Sizer, obj uint64, t *Type) (bytes uint64, known bool) {
	const data = 8
	lineage := w.Lineage(t)
	for at := uint64(16); at+SharedSize <= min(t.Basic, MaxBasic); at += 8 {
		p, ok := SharedAt(w.Types, at+obj)
		if !ok {
			continue
		}
		b := &buffers{w: w, seen: map[uint64]bool{}, known: true}
		switch {
		case lineage.Is("pyarrow.lib.ChunkedArray"):
			b.vector(p.Object, maxChunks, func(at uint64) {
				if array := w.Mem.Word(at); array != 0 {
					b.array(array+data, 0)
				}
			})
		case lineage.Is("pyarrow.lib.Array"):
			b.array(p.Object+data, 0)
		default:
			return 0, false
		}
		return b.bytes, b.known && len(b.seen) > 0
	}
	return 0, false
}

// buffers adds up the sizes of Arrow's buffers, each once.
type buffers struct {
	w     *Sizer
	seen  map[uint64]bool
	bytes uint64
	known bool
}

// vector calls do with the address of each shared pointer of a std::vector, empty ones included.
func (b *buffers) vector(at uint64, most uint64, do func(at uint64)) {
	begin, end := b.w.Mem.Word(at), b.w.Mem.Word(at+8)
	if begin == 0 && end == 0 {
		return
	}
	if begin < LowestAddress || end < begin || end >= UserSpace || (end-begin)%SharedSize != 0 ||
		(end-begin)/SharedSize > most {
		b.known = false
		return
	}
	for ; begin < end; begin += SharedSize {
		do(begin)
	}
}

// array adds the buffers of an array and of its children. A shared pointer at an address refers to the array's data.
func (b *buffers) array(at uint64, depth int) {
	const lists, children, size = 40, 64, 24
	p, ok := SharedAt(b.w.Types, at)
	if !ok || depth > deepestData {
		b.known = false
		return
	}
	b.vector(p.Object+lists, maxBuffers, func(at uint64) {
		buffer := b.w.Mem.Word(at)
		if buffer == 0 || b.seen[buffer] { // an array without nulls has no bitmap
			return
		}
		n := b.w.Mem.Word(buffer + size)
		if n >= UserSpace || len(b.seen) > maxChunks*maxBuffers {
			b.known = false
			return
		}
		b.seen[buffer] = true
		b.bytes += n
	})
	b.vector(p.Object+children, maxBuffers, func(at uint64) { b.array(at, depth+1) })
}
