package objects

import (
	"encoding/binary"
	"strconv"
	"strings"
)

// Places of the fields of a NumPy array: PyArrayObject_fields in numpy/ndarraytypes.h, NumPy 1.7 to 2. Behind them is
// the list of the array's weak references.
const (
	ArrayData    = 16
	arrayAxes    = 24 // how many
	ArrayLengths = 32 // of the axes
	ArrayStrides = 40
	ArrayBase    = 48 // the object that the data belongs to
	ArrayDescr   = 56
	arrayFlags   = 64

	descrKind = 24
	ownsData  = 4  // NPY_ARRAY_OWNDATA
	maxAxes   = 64 // in NumPy 2
)

// OwnsData reports whether an array owns its data.
func (y *Types) OwnsData(array uint64) bool { return y.Mem.Int32(array+arrayFlags)&ownsData != 0 }

// ArrayObjects returns how many elements of an array are references that the array itself owns.
func (y *Types) ArrayObjects(array uint64) uint64 {
	kind := y.Mem.Bytes(y.Mem.Word(array+ArrayDescr)+descrKind, 1)
	if kind == nil || kind[0] != KindObject || y.Mem.Word(array+ArrayBase) != 0 {
		return 0
	}
	return y.ArrayElements(array)
}

// axes returns how many axes an array has, within bounds.
func (y *Types) axes(array uint64) uint64 {
	return uint64(max(0, min(y.Mem.Int32(array+arrayAxes), maxAxes)))
}

// ArrayElements returns how many elements an array has, at most maxElements.
func (y *Types) ArrayElements(array uint64) uint64 {
	elements := uint64(1)
	y.Mem.Words(y.Mem.Word(array+ArrayLengths), y.axes(array), func(_, length uint64) bool {
		elements = min(elements*min(length, maxElements), maxElements)
		return true
	})
	return elements
}

// OwnSpan returns the extent of the elements of an array that owns its data. The extent is the size of the data: the
// largest product of an axis's length and its stride. It is 0 for other arrays, and for an array of one element.
func (y *Types) OwnSpan(array uint64) (bytes uint64) {
	if !y.OwnsData(array) {
		return 0
	}
	strides := y.Mem.Word(array + ArrayStrides)
	y.Mem.Words(y.Mem.Word(array+ArrayLengths), y.axes(array), func(i, length uint64) bool {
		stride := int64(y.Mem.Word(strides + 8*i))
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

// ArrayNote is a survey's note of an array: the place of its data, and the extent of its elements. The extent is 0 if
// the array does not own its data.
type ArrayNote struct{ Data, Span uint64 }

// maxElements bounds the elements of an array of objects that are followed.
const maxElements = 1 << 26

// arraySize returns the size of the data that a NumPy array owns, and of its dimensions.
func (s *Sizer) arraySize(addr uint64) (bytes uint64, known bool) {
	a := s.ReadArray(addr)
	shape := allocated(16 * uint64(len(a.Shape)))
	if shape > 0 {
		s.Sizes.reportBlock(s.Mem.Word(addr+ArrayLengths), shape)
	}
	if !s.OwnsData(addr) {
		return shape, s.Mem.Word(addr+ArrayBase) != 0
	}
	if !a.Known {
		return shape, false
	}
	bytes, known = s.Sizes.Buffer(s.Mem.Word(addr+ArrayData), a.Bytes)
	return bytes + shape, known
}

// ArrayFields has the fields of a NumPy array.
type ArrayFields struct {
	Shape []int64
	DType string
	Bytes uint64 // of its elements
	Known bool   // the size of an element is known
}

// ReadArray reads the fields of an array. It returns no fields where some have impossible values.
func (s *Sizer) ReadArray(addr uint64) (a ArrayFields) {
	axes := s.Mem.Int32(addr + arrayAxes)
	if axes < 0 || axes > maxAxes {
		return a
	}
	elements, sane := uint64(1), true
	s.Mem.Words(s.Mem.Word(addr+ArrayLengths), uint64(axes), func(_, length uint64) bool {
		a.Shape = append(a.Shape, int64(length))
		if length > UserSpace || length > 0 && elements > UserSpace/length {
			sane = false
		}
		elements *= length
		return sane
	})
	if !sane || len(a.Shape) != int(axes) {
		return ArrayFields{}
	}
	dtype, size, ok := s.DType(s.Mem.Word(addr + ArrayDescr))
	if ok && size > 0 && elements > UserSpace/size {
		return ArrayFields{}
	}
	a.DType, a.Bytes, a.Known = dtype, elements*size, ok
	return a
}

// DType reads a PyArray_Descr: kind, type and byte order at 24, 25 and 26, the type's number at 28, and how many bytes
// an element has at 32 (int) up to NumPy 1, at 40 (npy_intp) from 2 on (numpy/ndarraytypes.h).
func (s *Sizer) DType(descr uint64) (name string, size uint64, ok bool) {
	raw := s.Mem.Bytes(descr, 56)
	if raw == nil {
		return "", 0, false
	}
	kind, order, number := raw[24], raw[26], binary.LittleEndian.Uint32(raw[28:])
	switch s.Sizes.NumPy {
	case 1:
		size = uint64(binary.LittleEndian.Uint32(raw[32:]))
	case 2:
		size = binary.LittleEndian.Uint64(raw[40:])
	default:
		return "", 0, false
	}
	const builtin, most = 24, 1 << 31
	if number >= builtin || size > most {
		return "", size, size > 0 && size <= most && number < 256
	}
	return dtypeName(kind, order, size), size, true
}

// dtypeName returns a dtype as NumPy prints it; "" where the name depends on more than its kind and size.
func dtypeName(kind, order byte, size uint64) string {
	bits := strconv.FormatUint(8*size, 10)
	swapped := ""
	if order == '>' {
		swapped = ">"
	}
	if swapped != "" && strings.IndexByte("iufc", kind) >= 0 {
		return swapped + string(kind) + strconv.FormatUint(size, 10)
	}
	switch kind {
	case 'b':
		return "bool"
	case 'i':
		return "int" + bits
	case 'u':
		return "uint" + bits
	case 'f':
		return "float" + bits
	case 'c':
		return "complex" + bits
	case 'O':
		return "object"
	case 'M':
		return "datetime64"
	case 'm':
		return "timedelta64"
	case 'S':
		return "S" + strconv.FormatUint(size, 10)
	case 'U':
		return swapped + "U" + strconv.FormatUint(size/4, 10)
	case 'V':
		return "V" + strconv.FormatUint(size, 10)
	}
	return ""
}

// NumPy's letters for references to objects, and for records.
const (
	KindObject = 'O'
	kindRecord = 'V'
)
