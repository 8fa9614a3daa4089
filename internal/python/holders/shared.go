package holders

import "strings"

// sharedPointer is a std::shared_ptr of libstdc++ to an object of Arrow's, or to a vector of such.
type sharedPointer struct {
	object uint64
	counts uint64 // its control block: how many refer to the object, and how it is freed; each object has one
	class  string // the control block's, which names the object's class
	uses   uint32
}

const (
	sharedSize = 16      // the object, and its counts
	maxOfArrow = 1 << 16 // bytes of an object
	maxShared  = 1 << 20 // bytes of a vector of shared pointers
	maxLooked  = 1 << 10 // bytes of one that are looked at before it is taken for one
)

// isArrow reports whether a type has the name of one of pyarrow's: a Cython class that has shared pointers to C++
// objects in its words.
func isArrow(name string) bool {
	return strings.HasPrefix(name, "pyarrow.lib.") || strings.HasPrefix(name, "pyarrow._")
}

// sharedAt reads a shared pointer to an object of Arrow's. Nothing is believed unless the second word leads to a
// control block: an object of a class that libstdc++ has for them (bits/shared_ptr_base.h: _Sp_counted_base, two
// counts behind the virtual table), of something in namespace arrow.
func sharedAt(n *natives, at uint64) (p sharedPointer, ok bool) {
	p.object, p.counts = n.b.mem.word(at), n.b.mem.word(at+8)
	if p.object&7 != 0 || p.counts&7 != 0 || p.object < lowestAddress || p.counts < lowestAddress ||
		p.object >= userSpace || p.counts >= userSpace {
		return p, false
	}
	p.class = n.class(n.b.mem.word(p.counts))
	if !strings.HasPrefix(p.class, "St") || !strings.Contains(p.class, "_Sp_counted") ||
		!strings.Contains(p.class, "5arrow") {
		return p, false
	}
	p.uses = uint32(n.b.mem.word(p.counts + 8))
	return p, p.uses > 0 && p.uses < 1<<30
}

// isInPlace reports whether an object lies behind its counts, as std::make_shared puts it.
func (p sharedPointer) isInPlace() bool { return strings.Contains(p.class, "_Sp_counted_ptr_inplace") }

// eachShared goes over the shared pointers that an object of Python's has in its words.
func eachShared(n *natives, obj uint64, t *typ, refer func(sharedPointer)) {
	for at := uint64(16); at+sharedSize <= min(t.basic, maxBasic); at += 8 {
		if p, ok := sharedAt(n, obj+at); ok {
			refer(p)
			at += 8
		}
	}
}

// scanShared goes over the words of an object of Arrow's, until refer returns false: the shared pointers among them,
// and those in vectors, where vector allows it.
func scanShared(w *walker, from, size uint64, refer func(sharedPointer) bool, vector func(vectorOfShared) bool) {
	for at := uint64(0); at+8 <= size && !w.done(); at += 8 {
		if p, ok := sharedAt(w.natives, from+at); ok {
			if !refer(p) {
				return
			}
			at += 8
		} else if v, ok := vectorAt(w.natives, from+at); ok {
			at += 16
			if vector(v) {
				v.each(w, refer)
			}
		}
	}
}

// vectorOfShared is a std::vector of shared pointers: its begin, its end, and the end of its reserved memory.
type vectorOfShared struct{ begin, end, reserved uint64 }

// each goes over the elements of a vector, empty pointers left out, until refer returns false.
func (v vectorOfShared) each(w *walker, refer func(sharedPointer) bool) {
	for at := v.begin; at < v.end && !w.done(); at += sharedSize {
		if p, ok := sharedAt(w.natives, at); ok && !refer(p) {
			return
		}
	}
}

// vectorAt reads a vector of shared pointers at an address; ok is false if there is none, or an empty one.
func vectorAt(n *natives, at uint64) (v vectorOfShared, ok bool) {
	v = vectorOfShared{n.b.mem.word(at), n.b.mem.word(at + 8), n.b.mem.word(at + 16)}
	if v.begin < lowestAddress || v.begin&15 != 0 || v.end <= v.begin || v.reserved < v.end ||
		(v.end-v.begin)%sharedSize != 0 || v.reserved >= userSpace {
		return v, false
	}
	return v, sharesAll(n, v.begin, min(v.end, v.begin+maxLooked))
}

// sharesAll reports whether there are shared pointers in a part of memory, at least one, and nothing but these and
// empty ones.
func sharesAll(n *natives, from, to uint64) bool {
	some := false
	for ; from < to; from += sharedSize {
		if _, ok := sharedAt(n, from); ok {
			some = true
		} else if n.b.mem.word(from) != 0 || n.b.mem.word(from+8) != 0 {
			return false
		}
	}
	return some
}

// behindShared returns how many bytes malloc gave for an object and its counts, and how many of them there are from the
// object's address on: 0 where the sizes of the allocator are not known.
func behindShared(n *natives, p sharedPointer) (own, behind uint64) {
	own = n.chunkSize(p.counts)
	if p.isInPlace() {
		return own, min(own, maxOfArrow) - min(p.object-p.counts, own)
	}
	behind = n.chunkSize(p.object)
	return own + behind, behind
}

// poolBuffer is a buffer that has its memory from a pool.
type poolBuffer struct{ data, capacity uint64 }

// Buffers, behind the virtual table: flags, the data, their size and capacity, and the buffer that they are a part of
// (cpp/src/arrow/buffer.h, Arrow 11 to 25).
const (
	bufferData     = 16
	bufferSize     = 24
	bufferCapacity = 32
	bufferParent   = 48
)

// poolBufferAt reads arrow::PoolBuffer; ok is false for all other objects, and where its fields have impossible values.
func poolBufferAt(n *natives, object uint64) (b poolBuffer, ok bool) {
	b = poolBuffer{n.b.mem.word(object + bufferData), n.b.mem.word(object + bufferCapacity)}
	return b, isPoolBuffer(n, object) && n.b.mem.word(object+bufferSize) <= b.capacity && b.capacity < userSpace &&
		b.data < userSpace
}

func isPoolBuffer(n *natives, object uint64) bool {
	return strings.HasSuffix(n.class(n.b.mem.word(object)), "PoolBufferE")
}

// pythonsOf follows the Python objects that a buffer of pyarrow's refers to. It reports whether there is one.
func pythonsOf(w *walker, n int32, object, bytes uint64) (found bool) {
	if bytes < 16 || !strings.HasPrefix(w.class(w.mem.word(object)), "N5arrow2py") {
		return false
	}
	w.mem.words(object+8, (bytes-8)/8, func(_, to uint64) bool {
		if t := w.objectType(to); to&7 == 0 && t != nil && w.isLikely(to, t) {
			found = w.follow(n, to, label{}) || found
		}
		return !w.done()
	})
	return found
}
