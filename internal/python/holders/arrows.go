package holders

import (
	"strings"

	"ipytracer/event"
)

// arrow takes in the memory of an object of pyarrow's: the C++ objects that it shares, and their buffers.
func (e *extents) arrow(n int32, obj uint64, t *typ) {
	s := &sharedWalk{e: e, walker: e.walker}
	found := false
	eachShared(e.types, obj, t, func(p sharedPointer) {
		s.refer(n, p)
		found = true
	})
	if !found {
		return
	}
	e.unknown[n] = false
	for len(s.waiting) > 0 && !s.done() {
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
}

// sharedNode is an object that has been reached.
type sharedNode struct {
	sharedPointer
	node int32
}

// refer takes in a reference from a node.
func (s *sharedWalk) refer(from int32, p sharedPointer) {
	n, known := s.known(p.counts)
	if !known {
		if n = s.addNew(nobody, p.counts, label{}, nodePart); n < 0 {
			return
		}
		s.e.bytes[n], s.e.refs[n], s.e.unknown[n], s.e.class[n] = 0, p.uses, false, false
		s.waiting = append(s.waiting, sharedNode{p, n})
	}
	s.e.count(from, n)
}

// look takes in an object's own parts: its memory, vectors of shared pointers and a buffer's data; and the parts that
// it shares with others.
func (s *sharedWalk) look(o sharedNode) {
	own, behind := behindShared(s.types, o.sharedPointer)
	s.e.bytes[o.node] += own
	if behind == 0 { // of an allocator with unknown sizes
		s.e.unknown[o.node] = true
		return
	}
	if strings.Contains(s.class(s.mem.word(o.object)), "Buffer") {
		s.buffer(o, behind)
	}
	scanShared(s.walker.types, o.object, behind, func(p sharedPointer) bool { s.refer(o.node, p); return s.stopped == nil },
		func(v vectorOfShared) bool {
			if v.end-v.begin > maxShared {
				s.e.unknown[o.node] = true
				return false
			}
			bytes, known := s.sizes.buffer(v.begin, v.reserved-v.begin)
			s.e.bytes[o.node] += bytes
			s.e.unknown[o.node] = s.e.unknown[o.node] || !known
			return true
		})
}

// buffer takes in the memory of a buffer: arrow::PoolBuffer has its capacity from a pool; one of pyarrow's refers to
// the Python object that has the memory; a part of another buffer shares that. The owner of the memory of all others is
// not known.
func (s *sharedWalk) buffer(o sharedNode, bytes uint64) {
	switch {
	case isPoolBuffer(s.types, o.object):
		b, ok := poolBufferAt(s.types, o.object)
		known := false
		if ok {
			_, known = s.sizes.buffer(b.data, b.capacity)
		}
		s.e.unknown[o.node] = !known
		if known && b.capacity > 0 {
			s.e.bytes[o.node] += b.capacity
			s.e.enlarge(o.node, b.capacity)
			s.e.data[o.node] = b.data
		}
	case strings.HasPrefix(s.class(s.mem.word(o.object)), "N5arrow2py"):
		s.e.unknown[o.node] = !pythonsOf(s.walker, o.node, o.object, bytes)
	default:
		_, part := sharedAt(s.types, o.object+bufferParent)
		s.e.unknown[o.node] = !part && s.mem.word(o.object+bufferSize) > 0
	}
}

// describeArrow describes objects with rows: tables and record batches, which have their columns as well, arrays,
// chunked arrays. The places in the C++ objects: cpp/src/arrow/table.{h,cc}, record_batch.{h,cc}, chunked_array.h,
// array/data.h, Arrow 11 to 25. The words in front of a number must have their expected contents.
func (l *lister) describeArrow(r *event.Variable, addr uint64, t *typ) {
	of := l.lineage(t)
	var p sharedPointer
	found := false
	for at := uint64(16); at+sharedSize <= min(t.basic, maxBasic) && !found; at += 8 {
		p, found = sharedAt(l.types, addr+at)
	}
	if !found {
		return
	}
	shares := func(at uint64) bool {
		_, ok := sharedAt(l.types, at)
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
		if at, ok := sharedAt(l.types, p.object+data); ok && shares(at.object) &&
			l.mem.word(at.object+length) < userSpace {
			r.Length = int64(l.mem.word(at.object + length))
		}
	}
}
