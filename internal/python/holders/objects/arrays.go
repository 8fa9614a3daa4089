package objects

// ArrayBase is where an array has the object that its data belongs to.
const ArrayBase = 48

// NDArray is a NumPy array in memory.
type NDArray struct {
	Mem  *Memory
	Addr uint64
}

// Objects returns how many of its elements are references that it has of its own.
func (a NDArray) Objects() uint64 {
	const base, descr, kind = ArrayBase, 56, 24
	mem, addr := a.Mem, a.Addr
	if k := mem.Bytes(mem.Word(addr+descr)+kind, 1); k == nil || k[0] != 'O' || mem.Word(addr+base) != 0 {
		return 0
	}
	return a.Elements()
}

// Elements returns how many elements it has, at most maxElements.
func (a NDArray) Elements() uint64 {
	const nd, dimensions = 24, 32
	mem, addr, elements := a.Mem, a.Addr, uint64(1)
	dims, axes := mem.Word(addr+dimensions), uint64(max(0, min(mem.Int32(addr+nd), 64)))
	mem.Words(dims, axes, func(_, length uint64) bool {
		elements *= min(length, maxElements)
		elements = min(elements, maxElements)
		return true
	})
	return elements
}

// OwnSpan is span for an array that owns its data, and 0 for others: PyArrayObject_fields.flags at 64,
// NPY_ARRAY_OWNDATA is 4.
func (a NDArray) OwnSpan() uint64 {
	const flags, owns = 64, 4
	if a.Mem.Int32(a.Addr+flags)&owns == 0 {
		return 0
	}
	return a.span()
}

// span returns the extent of an array's elements, which is the size of its data if it owns that: the longest of its
// axes, each as many times its stride. An array of one element is taken for nothing.
func (a NDArray) span() (bytes uint64) {
	const nd, dimensions, strides = 24, 32, 40
	mem, addr := a.Mem, a.Addr
	axes := uint64(max(0, min(mem.Int32(addr+nd), 64)))
	at := mem.Word(addr + strides)
	mem.Words(mem.Word(addr+dimensions), axes, func(i, length uint64) bool {
		stride := int64(mem.Word(at + 8*i))
		stride = max(stride, -stride)
		switch {
		case length == 0:
			bytes = 0
			return false
		case length > 1 && stride > 0 && length < UserSpace/uint64(stride):
			bytes = max(bytes, length*uint64(stride))
		}
		return true
	})
	return bytes
}

// ArrayNote is a survey's note of an array: the place of its data, and the extent of its elements if it owns that, or
// 0.
type ArrayNote struct{ Data, Span uint64 }

// maxElements bounds the elements of an array of objects that are followed.
const maxElements = 1 << 26
