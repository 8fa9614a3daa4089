package objects

import (
	"strings"
)

// Tensor has the fields of a PyTorch tensor, and the places of its parts.
type Tensor struct {
	Impl, Storage uint64 // c10::TensorImpl and c10::StorageImpl
	Shape         []int64
	Scalar        scalar // no name if it is not known
	Data, Size    uint64 // of the storage
	// the argument of the function that frees the data: the data itself, where PyTorch's allocator made it
	Owner      uint64
	OnGPU      bool
	Meta       uint64 // autograd's object for it, 0 for none
	OwnsPython bool   // the tensor in C++ has the Python object: nothing in Python refers to that
	// Back is the word that refers to the Python object, sizes and strides are the places of those; 0 if not read
	Back, Sizes, Strides uint64
}

// TensorOffset is where the offset into the storage is, behind the word that refers to the Python object.
const TensorOffset = 96

// scalar is a type of PyTorch's elements: its name, NumPy's letter for its kind (B for bfloat16), and the bytes of an
// element.
type scalar struct {
	Name string
	Kind byte
	Size uint64
}

// scalars are PyTorch's element types by number (c10/core/ScalarType.h).
var scalars = map[uint64]scalar{
	0: {"uint8", 'u', 1}, 1: {"int8", 'i', 1}, 2: {"int16", 'i', 2}, 3: {"int32", 'i', 4}, 4: {"int64", 'i', 8},
	5: {"float16", 'f', 2}, 6: {"float32", 'f', 4}, 7: {"float64", 'f', 8}, 9: {"complex64", 'c', 8},
	10: {"complex128", 'c', 16}, 11: {"bool", 'b', 1}, 15: {"bfloat16", 'B', 2},
}

// IsTensor reports whether a type is PyTorch's tensor or derived from it.
func (s *Sizer) IsTensor(t *Type) bool {
	lineage := s.Lineage(t)
	return lineage.Is("torch._C._TensorBase") || lineage.Is("torch._C.TensorBase")
}

// ReadTensor reads the tensor of a Python object, from the C++ object that refers back to the Python object:
// c10/core/TensorImpl.h. Behind that reference are the number of dimensions, five sizes and five strides or their
// place, the offset into the storage, the number of elements and the type of an element. They are believed only if the
// sizes give the number of elements.
func (s *Sizer) ReadTensor(obj uint64, t *Type) (x Tensor, ok bool) {
	s.Mem.Words(obj+16, (min(t.Basic, 128)-16)/8, func(_, word uint64) bool {
		if word&7 == 0 && strings.Contains(s.Class(s.Mem.Word(word)), "TensorImpl") {
			x.Impl = word
		}
		return x.Impl == 0
	})
	if x.Impl == 0 || !s.ReadStorage(&x) {
		return x, false
	}
	const dimensions, elements, kind, most, inPlace = 8, 104, 112, 64, 5
	back := uint64(0)
	for at := uint64(40); at <= 96 && back == 0; at += 8 {
		if word := s.Mem.Word(x.Impl + at); word&^1 == obj {
			back, x.OwnsPython = x.Impl+at, word&1 != 0
		}
	}
	axes := s.Mem.Word(back + dimensions)
	if back == 0 || axes > most {
		return x, false
	}
	sizes, strides, count := back+16, back+16+8*inPlace, uint64(1)
	if axes > inPlace {
		sizes = s.Mem.Word(sizes)
		strides = sizes + 8*axes
	}
	s.Mem.Words(sizes, axes, func(_, n uint64) bool {
		if n > UserSpace || n > 0 && count > UserSpace/n {
			return false
		}
		x.Shape = append(x.Shape, int64(n))
		count *= n
		return true
	})
	scalar, known := scalars[s.Mem.Word(back+kind)&0xffff]
	if len(x.Shape) != int(axes) || count != s.Mem.Word(back+elements) || !known ||
		s.Mem.Word(back+TensorOffset) > UserSpace {
		x.Shape = nil
		return x, true
	}
	x.Scalar, x.Back, x.Sizes, x.Strides = scalar, back, sizes, strides
	return x, true
}

// ReadStorage reads the words behind the counts of a TensorImpl: its storage, and autograd's object for the tensor. A
// storage has a pointer to its data, the function that frees the data, the function's argument, the device, and the
// size.
func (s *Sizer) ReadStorage(x *Tensor) bool {
	const classic, compact = 24, 16 // behind two counts of 8 bytes each, or one for both
	for _, head := range []uint64{classic, compact} {
		x.Storage = s.Mem.Word(x.Impl + head)
		if x.Storage&7 != 0 || !strings.Contains(s.Class(s.Mem.Word(x.Storage)), "StorageImpl") {
			continue
		}
		x.Meta = s.Mem.Word(x.Impl + head + 8)
		x.Data, x.Size = s.Mem.Word(x.Storage+head), s.Mem.Word(x.Storage+head+DataPointer)
		x.Owner = s.Mem.Word(x.Storage + head + 16) // libstdc++ has how to free it in front
		device := s.Mem.Word(x.Storage+head+24) & 0xff
		x.OnGPU = device == 1
		return device <= 1 && x.Size <= UserSpace
	}
	return false
}

// DataPointer is the size of a c10::DataPtr: the data, its owner, the function that frees it, the device. Behind it a
// storage has the number of bytes that it was asked for (c10/core/StorageImpl.h, PyTorch 1.0 to 2.11).
const DataPointer = 32
