package objects

import "strings"

// SharedPointer is a std::shared_ptr of libstdc++ to an object of Arrow's, or to a vector of such.
type SharedPointer struct {
	Object uint64
	Counts uint64 // its control block: how many refer to the object, and how it is freed; each object has one
	Class  string // the control block's, which names the object's class
	Uses   uint32
}

const (
	SharedSize = 16      // the object, and its counts
	maxOfArrow = 1 << 16 // bytes of an object
	MaxShared  = 1 << 20 // bytes of a vector of shared pointers
	maxLooked  = 1 << 10 // bytes of a vector that are checked before it is believed
)

// SharedAt reads a shared pointer to an object of Arrow's. ok is false unless the second word leads to a control block
// of something in namespace arrow: an object of a class that libstdc++ has for control blocks (bits/shared_ptr_base.h:
// _Sp_counted_base, two counts behind the virtual table).
func SharedAt(y *Types, at uint64) (p SharedPointer, ok bool) {
	p.Object, p.Counts = y.Mem.Word(at), y.Mem.Word(at+8)
	if !isAddress(p.Object) || !isAddress(p.Counts) {
		return p, false
	}
	p.Class = y.Class(y.Mem.Word(p.Counts))
	if !strings.HasPrefix(p.Class, "St") || !strings.Contains(p.Class, "_Sp_counted") ||
		!strings.Contains(p.Class, "5arrow") {
		return p, false
	}
	p.Uses = uint32(y.Mem.Word(p.Counts + 8))
	return p, p.Uses > 0 && p.Uses < 1<<30
}

// EachShared goes over the shared pointers that an object of Python's has in its words.
func EachShared(y *Types, obj uint64, t *Type, refer func(SharedPointer)) {
	for at := uint64(16); at+SharedSize <= min(t.Basic, MaxBasic); at += 8 {
		if p, ok := SharedAt(y, obj+at); ok {
			refer(p)
			at += 8
		}
	}
}

// FirstShared returns the first shared pointer that an object of Python's has in its words.
func FirstShared(y *Types, obj uint64, t *Type) (first SharedPointer, found bool) {
	EachShared(y, obj, t, func(p SharedPointer) {
		if !found {
			first, found = p, true
		}
	})
	return first, found
}

// ScanShared goes over the words of an object of Arrow's, until refer returns false: the shared pointers among them,
// and those in vectors, where vector allows it.
func ScanShared(y *Types, from, size uint64, refer func(SharedPointer) bool, vector func(SharedVector) bool) {
	for at := uint64(0); at+8 <= size && !y.Spent(); at += 8 {
		if p, ok := SharedAt(y, from+at); ok {
			if !refer(p) {
				return
			}
			at += 8
		} else if v, ok := VectorAt(y, from+at); ok {
			at += 16
			if vector(v) {
				v.each(y, refer)
			}
		}
	}
}

// SharedVector is a std::vector of shared pointers: its begin, its end, and the end of its reserved memory.
type SharedVector struct{ Begin, End, Reserved uint64 }

// each goes over the elements of a vector, empty pointers left out, until refer returns false.
func (v SharedVector) each(y *Types, refer func(SharedPointer) bool) {
	for at := v.Begin; at < v.End && !y.Spent(); at += SharedSize {
		if p, ok := SharedAt(y, at); ok && !refer(p) {
			return
		}
	}
}

// VectorAt reads a vector of shared pointers at an address; ok is false if there is none, or an empty one.
func VectorAt(y *Types, at uint64) (v SharedVector, ok bool) {
	v = SharedVector{y.Mem.Word(at), y.Mem.Word(at + 8), y.Mem.Word(at + 16)}
	if v.Begin < LowestAddress || v.Begin&15 != 0 || v.End <= v.Begin || v.Reserved < v.End ||
		(v.End-v.Begin)%SharedSize != 0 || v.Reserved >= UserSpace {
		return v, false
	}
	return v, sharesAll(y, v.Begin, min(v.End, v.Begin+maxLooked))
}

// sharesAll reports whether there are shared pointers in a part of memory, at least one, and nothing but these and
// empty ones.
func sharesAll(y *Types, from, to uint64) bool {
	some := false
	for ; from < to; from += SharedSize {
		if _, ok := SharedAt(y, from); ok {
			some = true
		} else if y.Mem.Word(from) != 0 || y.Mem.Word(from+8) != 0 {
			return false
		}
	}
	return some
}

// BehindShared returns how many bytes malloc gave for an object and its counts, and how many of them there are from the
// object's address on: 0 where the sizes of the allocator are not known.
func BehindShared(y *Types, p SharedPointer) (own, behind uint64) {
	own = y.ChunkSize(p.Counts)
	if strings.Contains(p.Class, "_Sp_counted_ptr_inplace") { // std::make_shared puts the object behind its counts
		return own, min(own, maxOfArrow) - min(p.Object-p.Counts, own)
	}
	behind = y.ChunkSize(p.Object)
	return own + behind, behind
}

// PoolBuffer is a buffer that has its memory from a pool.
type PoolBuffer struct{ Data, Capacity uint64 }

// Buffers, behind the virtual table: flags, the data, their size and capacity, and the buffer that they are a part of
// (cpp/src/arrow/buffer.h, Arrow 11 to 25).
const (
	BufferData     = 16
	BufferSize     = 24
	BufferCapacity = 32
	BufferParent   = 48
)

// PoolBufferAt reads arrow::PoolBuffer; ok is false for all other objects, and where its fields have impossible values.
func PoolBufferAt(y *Types, object uint64) (b PoolBuffer, ok bool) {
	b = PoolBuffer{y.Mem.Word(object + BufferData), y.Mem.Word(object + BufferCapacity)}
	return b, IsPoolBuffer(y, object) && y.Mem.Word(object+BufferSize) <= b.Capacity && b.Capacity < UserSpace &&
		b.Data < UserSpace
}

// IsPoolBuffer reports whether an object is an arrow::PoolBuffer.
func IsPoolBuffer(y *Types, object uint64) bool {
	return strings.HasSuffix(y.Class(y.Mem.Word(object)), "PoolBufferE")
}

// LeastBehind is the least size of objects of a class that lead to buffers, in bytes: that much is looked at where the
// allocator does not show the size.
func LeastBehind(class string) uint64 {
	for _, known := range []struct { // the first name that the class contains decides
		name string
		size uint64
	}{{"ArrayData", 104}, {"ChunkedArray", 48}, {"Table", 56}, {"RecordBatch", 56},
		{"Buffer", BufferParent + SharedSize}, {"Array", 24}} {
		if strings.Contains(class, known.name) {
			return known.size
		}
	}
	return 0
}
