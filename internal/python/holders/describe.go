package holders

import (
	"ipytracer/event"
	"ipytracer/internal/python/cpython"
)

// describeValue fills in the shape, the type of the elements or the length of an object. Uncertain ones are left out.
func (l *lister) describeValue(r *event.Variable, addr uint64, t *typ) {
	of := l.lineage(t)
	r.Length = l.length(addr, t)
	switch {
	case t.shape == shapeArray:
		a := l.readArray(addr)
		r.Shape, r.DType = a.shape, a.dtype
		if len(a.shape) > 0 {
			r.Length = a.shape[0]
		}
	case l.isTensor(t):
		if x, ok := l.readTensor(addr, t); ok && x.dtype != "" {
			r.Shape, r.DType = x.shape, x.dtype
			if len(x.shape) > 0 {
				r.Length = x.shape[0]
			}
		}
	case t.arrow:
		l.describeArrow(r, addr, t)
	case of.is("DataFrame"), of.is("Series"):
		l.describeFrameOf(r, l.attribute(addr, t, "_mgr"))
	case of.is("Index"):
		if n, dtype := l.indexLength(addr, 0); n >= 0 {
			r.Shape, r.DType, r.Length = []int64{n}, dtype, n
		}
	default:
		l.describeSparse(r, addr, t)
		l.describeStarted(r, addr, t)
	}
}

// length returns len() of a built-in object, -1 for one that has none.
func (l *lister) length(addr uint64, t *typ) int64 {
	const size, used, setUsed = 16, 16, 24 // ob_size; ma_used of a dict; used of a set
	at, known := uint64(0), true
	switch origin := l.lineage(t).origin; {
	case t.flags&cpython.FlagStr != 0:
		at = uint64(l.heap.StrLength)
	case t.shape == shapeList:
		at = uint64(l.heap.ListSize)
	case t.shape == shapeDict:
		at = used
	case t.shape == shapeSet:
		at = setUsed
	case t.flags&(cpython.FlagBytes|cpython.FlagTuple) != 0, t.shape == shapeDeque, origin == "bytearray",
		origin == "array.array":
		at = size
	default:
		known = false
	}
	if n := l.mem.word(addr + at); known && n < userSpace {
		return int64(n)
	}
	return -1
}

// describeFrameOf describes objects with pandas' BlockManager: its axes are in a list, the columns first, its blocks in
// a tuple. It was written in Python, with slots, up to pandas 1.2, and is a Cython class since. The blocks must agree
// with the axes.
func (l *lister) describeFrameOf(r *event.Variable, manager uint64) {
	axes, blocks := managed(&l.sizer, manager)
	if axes == 0 || blocks == 0 {
		return
	}
	var shape []int64
	l.mem.words(l.mem.word(axes+uint64(l.heap.ListItems)), min(l.mem.word(axes+uint64(l.heap.ListSize)), 3),
		func(_, axis uint64) bool {
			n, _ := l.indexLength(axis, 0)
			shape = append([]int64{n}, shape...)
			return n >= 0
		})
	dtype, ok := l.frameType(blocks, shape)
	if ok {
		r.Shape, r.DType, r.Length = shape, dtype, shape[0]
	}
}

// describeSparse is for SciPy's sparse matrices: _shape is a tuple of two, data has the elements.
func (l *lister) describeSparse(r *event.Variable, addr uint64, t *typ) {
	if t.flags&cpython.FlagHeapType == 0 {
		return
	}
	data, shape := l.attribute(addr, t, "data"), l.tuple(l.attribute(addr, t, "_shape"), 3)
	if len(shape) == 0 || len(shape) > 2 || !l.isShape(data, shapeArray) {
		return
	}
	var out []int64
	for _, item := range shape {
		n, ok := l.integer(item)
		if !ok || n < 0 {
			return
		}
		out = append(out, n)
	}
	r.Shape, r.DType = out, l.readArray(data).dtype
}
