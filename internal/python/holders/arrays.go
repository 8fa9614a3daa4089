package holders

// arrayBase is where an array has the object that its data belongs to.
const arrayBase = 48

// ndarray is a NumPy array in memory.
type ndarray struct {
	mem  *memory
	addr uint64
}

// objects returns how many of its elements are references that it has of its own.
func (a ndarray) objects() uint64 {
	const base, descr, kind = arrayBase, 56, 24
	mem, addr := a.mem, a.addr
	if k := mem.bytes(mem.word(addr+descr)+kind, 1); k == nil || k[0] != 'O' || mem.word(addr+base) != 0 {
		return 0
	}
	return a.elements()
}

// elements returns how many elements it has, at most maxElements.
func (a ndarray) elements() uint64 {
	const nd, dimensions = 24, 32
	mem, addr, elements := a.mem, a.addr, uint64(1)
	dims, axes := mem.word(addr+dimensions), uint64(max(0, min(mem.int32(addr+nd), 64)))
	mem.words(dims, axes, func(_, length uint64) bool {
		elements *= min(length, maxElements)
		elements = min(elements, maxElements)
		return true
	})
	return elements
}

// ownSpan is span for an array that owns its data, and 0 for others: PyArrayObject_fields.flags at 64,
// NPY_ARRAY_OWNDATA is 4.
func (a ndarray) ownSpan() uint64 {
	const flags, owns = 64, 4
	if a.mem.int32(a.addr+flags)&owns == 0 {
		return 0
	}
	return a.span()
}

// span returns the extent of an array's elements, which is the size of its data if it owns that: the longest of its
// axes, each as many times its stride. An array of one element is taken for nothing.
func (a ndarray) span() (bytes uint64) {
	const nd, dimensions, strides = 24, 32, 40
	mem, addr := a.mem, a.addr
	axes := uint64(max(0, min(mem.int32(addr+nd), 64)))
	at := mem.word(addr + strides)
	mem.words(mem.word(addr+dimensions), axes, func(i, length uint64) bool {
		stride := int64(mem.word(at + 8*i))
		stride = max(stride, -stride)
		switch {
		case length == 0:
			bytes = 0
			return false
		case length > 1 && stride > 0 && length < userSpace/uint64(stride):
			bytes = max(bytes, length*uint64(stride))
		}
		return true
	})
	return bytes
}

// arrayNote is a survey's note of an array: the place of its data, and the extent of its elements if it owns that, or
// 0.
type arrayNote struct{ data, span uint64 }

// maxElements bounds the elements of an array of objects that are followed.
const maxElements = 1 << 26
