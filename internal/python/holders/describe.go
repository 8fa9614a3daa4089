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
		if n, dtype := l.axis(addr, 0); n >= 0 {
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
	axes, blocks := managed(l, manager)
	if axes == 0 || blocks == 0 {
		return
	}
	var shape []int64
	l.mem.words(l.mem.word(axes+uint64(l.heap.ListItems)), min(l.mem.word(axes+uint64(l.heap.ListSize)), 3),
		func(_, axis uint64) bool {
			n, _ := l.axis(axis, 0)
			shape = append([]int64{n}, shape...)
			return n >= 0
		})
	dtype, ok := l.blocks(blocks, shape)
	if ok {
		r.Shape, r.DType, r.Length = shape, dtype, shape[0]
	}
}

// blocks compares the blocks of a manager with its shape. dtype is that of all elements, if they have one.
func (l *lister) blocks(tuple uint64, shape []int64) (dtype string, ok bool) {
	const most = 1 << 12
	if len(shape) < 1 || len(shape) > 2 || shape[0] < 0 || shape[len(shape)-1] < 0 {
		return "", false
	}
	columns, plain, dtypes := int64(0), true, map[string]bool{}
	for _, block := range l.tuple(tuple, most+1) {
		found := false
		l.fields(block, func(word uint64, t *typ) {
			if found || t.shape != shapeArray {
				return
			}
			a := l.readArray(word)
			if n := len(a.shape); n != len(shape) || a.shape[n-1] != shape[0] {
				return
			}
			found = true
			if len(a.shape) == 2 {
				columns += a.shape[0]
			}
			dtypes[a.dtype] = true
		})
		plain = plain && found
	}
	if len(shape) == 2 && plain && columns != shape[1] || len(shape) == 1 && !plain && len(dtypes) > 0 {
		return "", false
	}
	if plain && len(dtypes) == 1 {
		for d := range dtypes {
			dtype = d
		}
	}
	return dtype, true
}

// fields calls yield for each object that an instance refers to in its own words or as an attribute.
func (l *lister) fields(addr uint64, yield func(addr uint64, t *typ)) {
	t := l.objectType(addr)
	if t == nil {
		return
	}
	one := func(word uint64) {
		if word&7 == 0 {
			if of := l.objectType(word); of != nil {
				yield(word, of)
			}
		}
	}
	l.mem.words(addr+16, (min(t.basic, maxBasic)-16)/8, func(_, word uint64) bool {
		one(word)
		return true
	})
	n := 0
	l.attributes(addr, t, func(_, value uint64) bool {
		one(value)
		n++
		return n < 64
	})
}

// axis is how long a pandas Index is, -1 if that is not known, and the type of its elements: it has an array, a range,
// or the codes of its levels.
func (l *lister) axis(addr uint64, depth int) (length int64, dtype string) {
	const deepest = 3
	t := l.objectType(addr)
	if t == nil || depth > deepest {
		return -1, ""
	}
	switch {
	case t.shape == shapeArray:
		if a := l.readArray(addr); len(a.shape) == 1 {
			return a.shape[0], a.dtype
		}
		return -1, ""
	case t.name == "range":
		const length = 40 // start, stop, step, length: Objects/rangeobject.c
		if n, ok := l.integer(l.mem.word(addr + length)); ok && n >= 0 {
			return n, "int64"
		}
		return -1, ""
	case t.shape == shapeList: // codes of a MultiIndex, one array for each level
		n, _ := l.axis(l.mem.word(l.mem.word(addr+uint64(l.heap.ListItems))), depth+1)
		return n, ""
	}
	for _, name := range []string{"_range", "_codes", "_data", "_ndarray"} {
		if of := l.attribute(addr, t, name); of != 0 {
			return l.axis(of, depth+1)
		}
	}
	length = -1
	l.fields(addr, func(word uint64, t *typ) { // an array with its data in a Cython class
		if length < 0 && t.shape == shapeArray {
			length, dtype = l.axis(word, depth+1)
		}
	})
	return length, dtype
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
