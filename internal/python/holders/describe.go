package holders

import (
	"ipytracer/event"
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/objects"
)

// describeValue fills in the shape, the type of the elements and the length of an object, as far as they are certain.
func (l *lister) describeValue(r *event.Variable, addr uint64, t *objects.Type) {
	lineage := l.Lineage(t)
	r.Length = l.length(addr, t)
	switch {
	case t.Shape == objects.ShapeArray:
		a := l.ReadArray(addr)
		r.Shape, r.DType = a.Shape, a.DType
		if len(a.Shape) > 0 {
			r.Length = a.Shape[0]
		}
	case l.IsTensor(t):
		if x, ok := l.ReadTensor(addr, t); ok && x.Scalar.Name != "" {
			r.Shape, r.DType = x.Shape, x.Scalar.Name
			if len(x.Shape) > 0 {
				r.Length = x.Shape[0]
			}
		}
	case t.Arrow:
		l.describeArrow(r, addr, t)
	case lineage.Is("DataFrame"), lineage.Is("Series"):
		l.describeFrameOf(r, l.Attribute(addr, t, "_mgr"))
	case lineage.Is("Index"):
		if n, dtype := l.IndexLength(addr, 0); n >= 0 {
			r.Shape, r.DType, r.Length = []int64{n}, dtype, n
		}
	default:
		l.describeSparse(r, addr, t)
		l.describeStarted(r, addr, t)
	}
}

// length returns len() of a built-in object, -1 if it has none.
func (l *lister) length(addr uint64, t *objects.Type) int64 {
	const size, used, setUsed = 16, 16, 24 // ob_size; ma_used of a dict; used of a set
	at, known := uint64(0), true
	switch origin := l.Lineage(t).Origin; {
	case t.Flags&cpython.FlagStr != 0:
		at = uint64(l.Heap.StrLength)
	case t.Shape == objects.ShapeList:
		at = uint64(l.Heap.ListSize)
	case t.Shape == objects.ShapeDict:
		at = used
	case t.Shape == objects.ShapeSet:
		at = setUsed
	case t.Flags&(cpython.FlagBytes|cpython.FlagTuple) != 0, t.Shape == objects.ShapeDeque, origin == "bytearray",
		origin == "array.array":
		at = size
	default:
		known = false
	}
	if n := l.Mem.Word(addr + at); known && n < objects.UserSpace {
		return int64(n)
	}
	return -1
}

// describeFrameOf describes objects with pandas' BlockManager: its axes are in a list, the columns first, its blocks in
// a tuple. It was written in Python, with slots, up to pandas 1.2, and is a Cython class since. The blocks must agree
// with the axes.
func (l *lister) describeFrameOf(r *event.Variable, manager uint64) {
	axes, blocks := objects.Managed(&l.Sizer, manager)
	if axes == 0 || blocks == 0 {
		return
	}
	var shape []int64
	l.Mem.Words(l.Mem.Word(axes+uint64(l.Heap.ListItems)), min(l.Mem.Word(axes+uint64(l.Heap.ListSize)), 3),
		func(_, axis uint64) bool {
			n, _ := l.IndexLength(axis, 0)
			shape = append([]int64{n}, shape...)
			return n >= 0
		})
	dtype, ok := l.FrameType(blocks, shape)
	if ok {
		r.Shape, r.DType, r.Length = shape, dtype, shape[0]
	}
}

// describeSparse fills in the shape and the type of the elements of SciPy's sparse matrices: _shape is a tuple, data an
// array of the elements.
func (l *lister) describeSparse(r *event.Variable, addr uint64, t *objects.Type) {
	if t.Flags&cpython.FlagHeapType == 0 {
		return
	}
	data, shape := l.Attribute(addr, t, "data"), l.Tuple(l.Attribute(addr, t, "_shape"), 3)
	if len(shape) == 0 || len(shape) > 2 || !l.IsShape(data, objects.ShapeArray) {
		return
	}
	var out []int64
	for _, item := range shape {
		n, ok := l.Integer(item)
		if !ok || n < 0 {
			return
		}
		out = append(out, n)
	}
	r.Shape, r.DType = out, l.ReadArray(data).DType
}

// describeArrow sets the length of Arrow's tables, record batches, arrays and chunked arrays, and the shape of the
// first two. The offsets are those of Arrow 11 to 25 (cpp/src/arrow/table.{h,cc}, record_batch.{h,cc}, chunked_array.h,
// array/data.h). A length counts only if the words in front of it have their expected contents.
func (l *lister) describeArrow(r *event.Variable, addr uint64, t *objects.Type) {
	lineage := l.Lineage(t)
	p, found := objects.FirstShared(l.Types, addr, t)
	if !found {
		return
	}
	shares := func(at uint64) bool {
		_, ok := objects.SharedAt(l.Types, at)
		return ok
	}
	switch {
	case lineage.Is("pyarrow.lib.Table"), lineage.Is("pyarrow.lib.RecordBatch"): // virtual table, schema, rows, columns
		const schema, rows, columns = 8, 24, 32
		begin, end := l.Mem.Word(p.Object+columns), l.Mem.Word(p.Object+columns+8)
		n := l.Mem.Word(p.Object + rows)
		if shares(p.Object+schema) && n < objects.UserSpace {
			r.Length, r.Shape = int64(n), []int64{int64(n)}
			if begin >= objects.LowestAddress && end >= begin && (end-begin)%objects.SharedSize == 0 && shares(begin) {
				r.Shape = append(r.Shape, int64((end-begin)/objects.SharedSize))
			}
		}
	case lineage.Is("pyarrow.lib.ChunkedArray"): // chunks, type, length
		const kind, length = 24, 40
		if n := l.Mem.Word(p.Object + length); shares(p.Object+kind) && n < objects.UserSpace {
			r.Length = int64(n)
		}
	case lineage.Is("pyarrow.lib.Array"): // virtual table, data, which have a type and their length
		const data, length = 8, 16
		if at, ok := objects.SharedAt(l.Types, p.Object+data); ok && shares(at.Object) &&
			l.Mem.Word(at.Object+length) < objects.UserSpace {
			r.Length = int64(l.Mem.Word(at.Object + length))
		}
	}
}
