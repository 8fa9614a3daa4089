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
func sharedAt(y *types, at uint64) (p sharedPointer, ok bool) {
	p.object, p.counts = y.mem.word(at), y.mem.word(at+8)
	if p.object&7 != 0 || p.counts&7 != 0 || p.object < lowestAddress || p.counts < lowestAddress ||
		p.object >= userSpace || p.counts >= userSpace {
		return p, false
	}
	p.class = y.class(y.mem.word(p.counts))
	if !strings.HasPrefix(p.class, "St") || !strings.Contains(p.class, "_Sp_counted") ||
		!strings.Contains(p.class, "5arrow") {
		return p, false
	}
	p.uses = uint32(y.mem.word(p.counts + 8))
	return p, p.uses > 0 && p.uses < 1<<30
}

// isInPlace reports whether an object lies behind its counts, as std::make_shared puts it.
func (p sharedPointer) isInPlace() bool { return strings.Contains(p.class, "_Sp_counted_ptr_inplace") }

// eachShared goes over the shared pointers that an object of Python's has in its words.
func eachShared(y *types, obj uint64, t *typ, refer func(sharedPointer)) {
	for at := uint64(16); at+sharedSize <= min(t.basic, maxBasic); at += 8 {
		if p, ok := sharedAt(y, obj+at); ok {
			refer(p)
			at += 8
		}
	}
}

// scanShared goes over the words of an object of Arrow's, until refer returns false: the shared pointers among them,
// and those in vectors, where vector allows it.
func scanShared(y *types, from, size uint64, refer func(sharedPointer) bool, vector func(vectorOfShared) bool) {
	for at := uint64(0); at+8 <= size && !y.spent(); at += 8 {
		if p, ok := sharedAt(y, from+at); ok {
			if !refer(p) {
				return
			}
			at += 8
		} else if v, ok := vectorAt(y, from+at); ok {
			at += 16
			if vector(v) {
				v.each(y, refer)
			}
		}
	}
}

// vectorOfShared is a std::vector of shared pointers: its begin, its end, and the end of its reserved memory.
type vectorOfShared struct{ begin, end, reserved uint64 }

// each goes over the elements of a vector, empty pointers left out, until refer returns false.
func (v vectorOfShared) each(y *types, refer func(sharedPointer) bool) {
	for at := v.begin; at < v.end && !y.spent(); at += sharedSize {
		if p, ok := sharedAt(y, at); ok && !refer(p) {
			return
		}
	}
}

// vectorAt reads a vector of shared pointers at an address; ok is false if there is none, or an empty one.
func vectorAt(y *types, at uint64) (v vectorOfShared, ok bool) {
	v = vectorOfShared{y.mem.word(at), y.mem.word(at + 8), y.mem.word(at + 16)}
	if v.begin < lowestAddress || v.begin&15 != 0 || v.end <= v.begin || v.reserved < v.end ||
		(v.end-v.begin)%sharedSize != 0 || v.reserved >= userSpace {
		return v, false
	}
	return v, sharesAll(y, v.begin, min(v.end, v.begin+maxLooked))
}

// sharesAll reports whether there are shared pointers in a part of memory, at least one, and nothing but these and
// empty ones.
func sharesAll(y *types, from, to uint64) bool {
	some := false
	for ; from < to; from += sharedSize {
		if _, ok := sharedAt(y, from); ok {
			some = true
		} else if y.mem.word(from) != 0 || y.mem.word(from+8) != 0 {
			return false
		}
	}
	return some
}

// behindShared returns how many bytes malloc gave for an object and its counts, and how many of them there are from the
// object's address on: 0 where the sizes of the allocator are not known.
func behindShared(y *types, p sharedPointer) (own, behind uint64) {
	own = y.chunkSize(p.counts)
	if p.isInPlace() {
		return own, min(own, maxOfArrow) - min(p.object-p.counts, own)
	}
	behind = y.chunkSize(p.object)
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
func poolBufferAt(y *types, object uint64) (b poolBuffer, ok bool) {
	b = poolBuffer{y.mem.word(object + bufferData), y.mem.word(object + bufferCapacity)}
	return b, isPoolBuffer(y, object) && y.mem.word(object+bufferSize) <= b.capacity && b.capacity < userSpace &&
		b.data < userSpace
}

func isPoolBuffer(y *types, object uint64) bool {
	return strings.HasSuffix(y.class(y.mem.word(object)), "PoolBufferE")
}

// leastBehind is the least size of objects of a class that lead to buffers, in bytes: that much is looked at where the
// allocator does not show the size.
func leastBehind(class string) uint64 {
	for _, one := range []struct {
		of   string
		size uint64
	}{{"ArrayData", 104}, {"ChunkedArray", 48}, {"Table", 56}, {"RecordBatch", 56},
		{"Buffer", bufferParent + sharedSize}, {"Array", 24}} {
		if strings.Contains(class, one.of) {
			return one.size
		}
	}
	return 0
}
