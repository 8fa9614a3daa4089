package holders

import (
	"strings"
)

// tensor has the fields of a PyTorch tensor, and the places of its parts.
type tensor struct {
	impl, storage uint64 // c10::TensorImpl and c10::StorageImpl
	shape         []int64
	dtype         string
	data, size    uint64 // of the storage
	// the argument of the function that frees the data: the data itself, where PyTorch's allocator made it
	owner uint64
	onGPU bool
	meta  uint64 // autograd's object for it, 0 for none
	lent  bool   // the tensor in C++ has the Python object: nothing in Python refers to that
	// back is the word that refers to the Python object, sizes and strides are the places of those; 0 if not read
	back, sizes, strides uint64
}

// tensorOffset is where the offset into the storage is, behind the word that refers to the Python object.
const tensorOffset = 96

// scalars are PyTorch's element types by number, and their bytes (c10/core/ScalarType.h).
var scalars = map[uint64]struct {
	name string
	size uint64
}{
	0: {"uint8", 1}, 1: {"int8", 1}, 2: {"int16", 2}, 3: {"int32", 4}, 4: {"int64", 8}, 5: {"float16", 2},
	6: {"float32", 4}, 7: {"float64", 8},
	9: {"complex64", 8}, 10: {"complex128", 16}, 11: {"bool", 1}, 15: {"bfloat16", 2},
}

// isTensor reports whether a type is PyTorch's tensor or derived from it.
func (s *sizer) isTensor(t *typ) bool {
	of := s.lineage(t)
	return of.is("torch._C._TensorBase") || of.is("torch._C.TensorBase")
}

// readTensor reads the tensor of a Python object, from the C++ object that refers back to it: c10/core/TensorImpl.h.
// Behind that reference it has the number of dimensions, five sizes and five strides or their place, the offset into
// the storage, the number of elements, the type of an element. Nothing is believed unless the sizes give that number of
// elements, and these fit into the storage.
func (s *sizer) readTensor(obj uint64, t *typ) (x tensor, ok bool) {
	s.mem.words(obj+16, (min(t.basic, 128)-16)/8, func(_, word uint64) bool {
		if word&7 == 0 && strings.Contains(s.class(s.mem.word(word)), "TensorImpl") {
			x.impl = word
		}
		return x.impl == 0
	})
	if x.impl == 0 || !s.readStorage(&x) {
		return x, false
	}
	const dimensions, elements, kind, most, inPlace = 8, 104, 112, 64, 5
	back := uint64(0)
	for at := uint64(40); at <= 96 && back == 0; at += 8 {
		if word := s.mem.word(x.impl + at); word&^1 == obj {
			back, x.lent = x.impl+at, word&1 != 0
		}
	}
	axes := s.mem.word(back + dimensions)
	if back == 0 || axes > most {
		return x, false
	}
	sizes, strides, count := back+16, back+16+8*inPlace, uint64(1)
	if axes > inPlace {
		sizes = s.mem.word(sizes)
		strides = sizes + 8*axes
	}
	s.mem.words(sizes, axes, func(_, n uint64) bool {
		if n > userSpace || n > 0 && count > userSpace/n {
			return false
		}
		x.shape = append(x.shape, int64(n))
		count *= n
		return true
	})
	scalar, known := scalars[s.mem.word(back+kind)&0xffff]
	if len(x.shape) != int(axes) || count != s.mem.word(back+elements) || !known ||
		s.mem.word(back+tensorOffset) > userSpace {
		x.shape = nil
		return x, true
	}
	x.dtype, x.back, x.sizes, x.strides = scalar.name, back, sizes, strides
	return x, true
}

// readStorage reads the words that a TensorImpl has behind its counts: its storage, and autograd's object for it. A
// storage has a pointer to its data, the function that frees it, its argument, the device, and the bytes.
func (s *sizer) readStorage(x *tensor) bool {
	const classic, compact = 24, 16 // behind two counts of 8 bytes each, or one for both
	for _, head := range []uint64{classic, compact} {
		x.storage = s.mem.word(x.impl + head)
		if x.storage&7 != 0 || !strings.Contains(s.class(s.mem.word(x.storage)), "StorageImpl") {
			continue
		}
		x.meta = s.mem.word(x.impl + head + 8)
		x.data, x.size = s.mem.word(x.storage+head), s.mem.word(x.storage+head+dataPointer)
		x.owner = s.mem.word(x.storage + head + 16) // libstdc++ has how to free it in front
		device := s.mem.word(x.storage+head+24) & 0xff
		x.onGPU = device == 1
		return device <= 1 && x.size <= userSpace
	}
	return false
}

// dataPointer is the size of a c10::DataPtr: the data, its owner, the function that frees it, the device. Behind it a
// storage has the number of bytes that it was asked for (c10/core/StorageImpl.h, PyTorch 1.0 to 2.11).
const dataPointer = 32
