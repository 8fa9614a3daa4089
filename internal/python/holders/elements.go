package holders

import (
	"bytes"

	"ipytracer/event"
	"ipytracer/internal/python/contents"
)

// elementsOf returns the array that an object has its elements in, 0 for none: an array itself, a pandas Series or
// Index, a sparse matrix of SciPy's.
func (in *inspector) elementsOf(r *event.Variable, addr uint64, t *typ) (array uint64) {
	switch of := in.lineage(t); {
	case t.shape == shapeArray:
		return addr
	case of.is("Series"):
		_, blocks := managed(in.sizer, in.attribute(addr, t, "_mgr"))
		if all := in.tuple(blocks, 2); len(all) == 1 {
			array = in.valuesOf(all[0])
		}
	case of.is("Index"):
		array = in.indexArray(addr, 0)
	case len(r.Shape) == 2 && r.DType != "" && in.attribute(addr, t, "_shape") != 0:
		if data := in.attribute(addr, t, "data"); in.isShape(data, shapeArray) { // the elements that are kept
			return data
		}
	}
	if a := in.readArray(array); len(a.shape) != 1 || len(r.Shape) != 1 || a.shape[0] != r.Shape[0] {
		return 0
	}
	return array
}

// columns notes the elements of the columns of a data frame. Like variable, it does nothing for nil.
func (in *inspector) columns(r *event.Variable, all []column) {
	if in == nil {
		return
	}
	for i, one := range all {
		if one.array == 0 {
			continue
		}
		if place, ok := in.placer.array(one.array, one.row); ok {
			in.want(r.Name+"["+quote(one.Name)+"]", &r.Columns[i].Contents, place, leastOfColumn)
		}
	}
}

// scalarTypes are the types of PyTorch's elements.
var scalarTypes = map[string]contents.Type{
	"uint8": {Kind: 'u', Size: 1}, "int8": {Kind: 'i', Size: 1}, "int16": {Kind: 'i', Size: 2},
	"int32": {Kind: 'i', Size: 4}, "int64": {Kind: 'i', Size: 8}, "float16": {Kind: 'f', Size: 2},
	"float32": {Kind: 'f', Size: 4}, "float64": {Kind: 'f', Size: 8}, "complex64": {Kind: 'c', Size: 8},
	"complex128": {Kind: 'c', Size: 16}, "bool": {Kind: 'b', Size: 1}, "bfloat16": {Kind: 'B', Size: 2},
}

// tensor finds the elements of a tensor on the CPU. What was read of it before must be there still.
func (a arrayPlacer) tensor(addr uint64, t *typ) (p arrayPlace, ok bool) {
	const storageBytes = 72
	x, ok := a.readTensor(addr, t)
	if !ok || x.onGPU || x.back == 0 || len(x.shape) == 0 || x.dtype == "" {
		return p, false
	}
	p.typ = scalarTypes[x.dtype]
	item := int64(p.typ.Size)
	axes := uint64(len(x.shape))
	for _, part := range []struct{ addr, size uint64 }{
		{x.impl + 16, x.back + 128 - x.impl - 16}, {x.storage + 16, storageBytes}, {x.sizes, 8 * axes},
		{x.strides, 8 * axes},
	} {
		before := bytes.Clone(a.mem.bytes(part.addr, int(part.size)))
		if now := a.fresh(&p, part.addr, int(part.size)); now == nil || !bytes.Equal(now, before) {
			return p, false
		}
	}
	offset := a.mem.word(x.back + tensorOffset)
	if offset > userSpace/16 || item == 0 {
		return p, false
	}
	p.base = x.data + offset*uint64(item)
	all := make([]axis, 0, axes)
	a.mem.words(x.strides, axes, func(i, stride uint64) bool {
		if stride >= userSpace/16 {
			return false
		}
		all = append(all, axis{x.shape[i], int64(stride) * item})
		return true
	})
	if len(all) != len(x.shape) || !p.lay(all) || !a.fits(&p) {
		return p, false
	}
	return p, p.base >= x.data && p.base+p.span() <= x.data+x.size
}
