package holders

import (
	"strings"

	"ipytracer/event"
)

// sharedPointer is a std::shared_ptr of libstdc++ to an object of Arrow's, or to a vector of such.
type sharedPointer struct {
	object uint64
	counts uint64 // its control block: how many refer to the object, and how it is freed; each object has one
	class  string // the control block's, which names what the object is
	uses   uint32
}

const (
	sharedSize = 16      // the object, and its counts
	maxOfArrow = 1 << 16 // bytes of an object
	maxShared  = 1 << 20 // bytes of a vector of shared pointers
	maxLooked  = 1 << 10 // bytes of one that are looked at before it is taken for one
)

// isArrow says whether a type is pyarrow's: a Cython class that has shared pointers to C++ objects in its words.
func isArrow(w *walker, t *typ) bool {
	for _, name := range w.lineage(t).names {
		if strings.HasPrefix(name, "pyarrow.lib.") || strings.HasPrefix(name, "pyarrow._") {
			return true
		}
	}
	return false
}

// sharedAt reads a shared pointer to an object of Arrow's. Nothing is believed unless the second word leads to a control block: an object of a class that
// libstdc++ has for them (bits/shared_ptr_base.h: _Sp_counted_base, two counts behind the virtual table), of something in namespace arrow.
func sharedAt(w *walker, at uint64) (p sharedPointer, ok bool) {
	p.object, p.counts = w.mem.word(at), w.mem.word(at+8)
	if p.object&7 != 0 || p.counts&7 != 0 || p.object < lowestAddress || p.counts < lowestAddress || p.object >= userSpace || p.counts >= userSpace {
		return p, false
	}
	p.class = w.class(w.mem.word(p.counts))
	if !strings.HasPrefix(p.class, "St") || !strings.Contains(p.class, "_Sp_counted") || !strings.Contains(p.class, "5arrow") {
		return p, false
	}
	p.uses = uint32(w.mem.word(p.counts + 8))
	return p, p.uses > 0 && p.uses < 1<<30
}

// arrow takes in what an object of pyarrow's has: the C++ objects that it shares, and their buffers.
func (e *extents) arrow(w *walker, n int32, obj uint64, t *typ) {
	if e == nil || !isArrow(w, t) {
		return
	}
	s := &sharedWalk{e: e, walker: w}
	for at := uint64(16); at+sharedSize <= min(t.basic, maxBasic); at += 8 {
		if s.refer(n, obj+at) {
			s.found = true
			at += 8
		}
	}
	if !s.found {
		return
	}
	e.unknown[n] = false
	for len(s.waiting) > 0 && !w.done() {
		last := len(s.waiting) - 1
		one := s.waiting[last]
		s.waiting = s.waiting[:last]
		s.look(one)
	}
}

// sharedWalk is a walk over the C++ objects behind one object of pyarrow's.
type sharedWalk struct {
	e *extents
	*walker
	waiting []sharedNode
	found   bool
}

// sharedNode is an object that has been reached.
type sharedNode struct {
	sharedPointer
	node int32
}

// refer takes in a reference from a node, if there is a shared pointer at an address.
func (s *sharedWalk) refer(from int32, at uint64) bool {
	p, ok := sharedAt(s.walker, at)
	if !ok {
		return false
	}
	n, known := s.known(p.counts)
	if !known {
		if n = s.add(nobody, p.counts, label{}, isDone); n < 0 {
			return true
		}
		s.e.bytes[n], s.e.refs[n], s.e.unknown[n], s.e.class[n] = 0, p.uses, false, false
		s.waiting = append(s.waiting, sharedNode{p, n})
	}
	s.e.reference(s.walker, from, n)
	return true
}

// look takes in what an object has of its own: its memory, vectors of shared pointers and a buffer's data; and what it shares with others.
func (s *sharedWalk) look(o sharedNode) {
	own, behind := s.chunkSize(o.counts), uint64(0)
	if strings.Contains(o.class, "_Sp_counted_ptr_inplace") { // the object lies behind its counts
		behind = min(own, maxOfArrow) - min(o.object-o.counts, own)
	} else {
		behind = s.chunkSize(o.object)
		own += behind
	}
	s.e.bytes[o.node] += own
	if behind == 0 { // of an allocator whose sizes are not known
		s.e.unknown[o.node] = true
		return
	}
	if strings.Contains(s.class(s.mem.word(o.object)), "Buffer") {
		s.buffer(o, behind)
	}
	for at := uint64(0); at+8 <= behind && !s.done(); at += 8 {
		if s.refer(o.node, o.object+at) {
			at += 8
		} else if s.vector(o.node, o.object+at) {
			at += 16
		}
	}
}

// vector takes in a std::vector of shared pointers at an address: its begin, its end, and the end of what is reserved.
func (s *sharedWalk) vector(n int32, at uint64) bool {
	begin, end, reserved := s.mem.word(at), s.mem.word(at+8), s.mem.word(at+16)
	if begin < lowestAddress || begin&15 != 0 || end <= begin || reserved < end || (end-begin)%sharedSize != 0 || reserved >= userSpace {
		return false
	}
	if !s.sharesAll(begin, min(end, begin+maxLooked)) {
		return false
	}
	if end-begin > maxShared {
		s.e.unknown[n] = true
		return true
	}
	bytes, known := s.sizes.buffer(begin, reserved-begin)
	s.e.bytes[n] += bytes
	s.e.unknown[n] = s.e.unknown[n] || !known
	for ; begin < end && !s.done(); begin += sharedSize {
		s.refer(n, begin)
	}
	return true
}

// sharesAll says whether there are shared pointers in a part of memory, at least one, and nothing but these and empty ones.
func (s *sharedWalk) sharesAll(from, to uint64) bool {
	some := false
	for ; from < to; from += sharedSize {
		if _, ok := sharedAt(s.walker, from); ok {
			some = true
		} else if s.mem.word(from) != 0 || s.mem.word(from+8) != 0 {
			return false
		}
	}
	return some
}

// buffer takes in the memory of a buffer: arrow::PoolBuffer has its capacity from a pool; one of pyarrow's refers to the Python object that has the memory; a
// part of another buffer shares that. Of all others it is not known whose the memory is. Behind the virtual table are flags, the data, their size and the
// capacity (cpp/src/arrow/buffer.h, Arrow 11 to 25).
func (s *sharedWalk) buffer(o sharedNode, bytes uint64) {
	const data, size, capacity, parent = 16, 24, 32, 48
	word := func(at uint64) uint64 { return s.mem.word(o.object + at) }
	class := s.class(word(0))
	switch {
	case strings.HasSuffix(class, "PoolBufferE"):
		if word(size) > word(capacity) {
			s.e.unknown[o.node] = true
			return
		}
		_, known := s.sizes.buffer(word(data), word(capacity))
		s.e.unknown[o.node] = !known
		if known && word(capacity) > 0 {
			s.e.bytes[o.node] += word(capacity)
			s.e.data[o.node] = word(data)
		}
	case strings.HasPrefix(class, "N5arrow2py"):
		found := false
		s.mem.words(o.object+8, (bytes-8)/8, func(_, to uint64) bool {
			if t := s.objectType(to); to&7 == 0 && t != nil && s.isLikely(to, t) {
				found = s.follow(o.node, to, label{}) || found
			}
			return !s.done()
		})
		s.e.unknown[o.node] = !found
	default:
		_, part := sharedAt(s.walker, o.object+parent)
		s.e.unknown[o.node] = !part && word(size) > 0
	}
}

// describeArrow is for what has rows: tables and record batches, which have their columns as well, arrays, chunked arrays. Where the C++ objects have them:
// cpp/src/arrow/table.{h,cc}, record_batch.{h,cc}, chunked_array.h, array/data.h, Arrow 11 to 25. What stands in front of a number must be what it is there.
func (l *lister) describeArrow(r *event.Variable, addr uint64, t *typ) {
	of := l.lineage(t)
	var p sharedPointer
	found := false
	for at := uint64(16); at+sharedSize <= min(t.basic, maxBasic) && !found; at += 8 {
		p, found = sharedAt(l.walker, addr+at)
	}
	if !found {
		return
	}
	shares := func(at uint64) bool {
		_, ok := sharedAt(l.walker, at)
		return ok
	}
	switch {
	case of.is("pyarrow.lib.Table"), of.is("pyarrow.lib.RecordBatch"): // virtual table, schema, rows, columns
		const schema, rows, columns = 8, 24, 32
		begin, end := l.mem.word(p.object+columns), l.mem.word(p.object+columns+8)
		n := l.mem.word(p.object + rows)
		if shares(p.object+schema) && n < userSpace {
			r.Length, r.Shape = int64(n), []int64{int64(n)}
			if begin >= lowestAddress && end >= begin && (end-begin)%sharedSize == 0 && shares(begin) {
				r.Shape = append(r.Shape, int64((end-begin)/sharedSize))
			}
		}
	case of.is("pyarrow.lib.ChunkedArray"): // chunks, type, length
		const kind, length = 24, 40
		if n := l.mem.word(p.object + length); shares(p.object+kind) && n < userSpace {
			r.Length = int64(n)
		}
	case of.is("pyarrow.lib.Array"): // virtual table, data, which have a type and their length
		const data, length = 8, 16
		if at, ok := sharedAt(l.walker, p.object+data); ok && shares(at.object) && l.mem.word(at.object+length) < userSpace {
			r.Length = int64(l.mem.word(at.object + length))
		}
	}
}
