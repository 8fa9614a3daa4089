package contents

import (
	"bytes"

	"ipytracer/event"
	"ipytracer/internal/python/holders/objects"
)

// elementsOf returns the array in which an object has its elements; 0 for none. The object may be an array itself, a
// Series or Index of pandas, or a sparse matrix of SciPy's.
func (in *Inspector) elementsOf(r *event.Variable, addr uint64, t *objects.Type) (array uint64) {
	lineage := in.Lineage(t)
	switch {
	case t.Shape == objects.ShapeArray:
		return addr
	case lineage.Is("Series"):
		_, tuple := objects.Managed(in.Sizer, in.Attribute(addr, t, "_mgr"))
		if blocks := in.Tuple(tuple, 2); len(blocks) == 1 {
			array = in.ValuesOf(blocks[0])
		}
	case lineage.Is("Index"):
		array = in.IndexArray(addr, 0)
	case len(r.Shape) == 2 && r.DType != "" && in.Attribute(addr, t, "_shape") != 0:
		if data := in.Attribute(addr, t, "data"); in.IsShape(data, objects.ShapeArray) { // elements that are not 0
			return data
		}
	}
	if a := in.ReadArray(array); len(a.Shape) != 1 || len(r.Shape) != 1 || a.Shape[0] != r.Shape[0] {
		return 0
	}
	return array
}

// tensor finds the elements of a tensor on the CPU. ok is false for other tensors, and for a tensor that has changed
// since its page was read.
func (a placer) tensor(addr uint64, t *objects.Type) (p place, ok bool) {
	const storageBytes = 72
	x, ok := a.ReadTensor(addr, t)
	if !ok || x.OnGPU || x.Back == 0 || len(x.Shape) == 0 || x.Scalar.Name == "" {
		return p, false
	}
	p.typ = elementType{kind: x.Scalar.Kind, size: int(x.Scalar.Size)}
	item := int64(p.typ.size)
	axes := uint64(len(x.Shape))
	for _, part := range []struct{ addr, size uint64 }{
		{x.Impl + 16, x.Back + 128 - x.Impl - 16}, {x.Storage + 16, storageBytes}, {x.Sizes, 8 * axes},
		{x.Strides, 8 * axes},
	} {
		before := bytes.Clone(a.Mem.Bytes(part.addr, int(part.size)))
		if now := a.fresh(&p, part.addr, int(part.size)); now == nil || !bytes.Equal(now, before) {
			return p, false
		}
	}
	offset := a.Mem.Word(x.Back + objects.TensorOffset)
	if offset > objects.UserSpace/16 || item == 0 {
		return p, false
	}
	p.base = x.Data + offset*uint64(item)
	shape := make([]axis, 0, axes)
	a.Mem.Words(x.Strides, axes, func(i, stride uint64) bool {
		if stride >= objects.UserSpace/16 {
			return false
		}
		shape = append(shape, axis{x.Shape[i], int64(stride) * item})
		return true
	})
	if len(shape) != len(x.Shape) || !p.setRows(shape) || !a.fits(&p) {
		return p, false
	}
	return p, p.base >= x.Data && p.base+p.span() <= x.Data+x.Size
}
