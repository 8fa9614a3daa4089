package objects

import (
	"encoding/binary"
	"strconv"
	"strings"
)

// arraySize is the data of a NumPy array that owns it, and its dimensions: see [walk.Walker.visitArray] for the layout.
func (s *Sizer) arraySize(addr uint64) (bytes uint64, known bool) {
	const data, base, flags, owns = 16, 48, 64, 4
	a := s.ReadArray(addr)
	shape := allocated(16 * uint64(len(a.Shape)))
	if shape > 0 {
		s.Sizes.place(s.Mem.Word(addr+32), shape)
	}
	if s.Mem.Int32(addr+flags)&owns == 0 {
		return shape, s.Mem.Word(addr+base) != 0
	}
	if !a.Known {
		return shape, false
	}
	bytes, known = s.Sizes.Buffer(s.Mem.Word(addr+data), a.Bytes)
	return bytes + shape, known
}

// ArrayFields has the fields of a NumPy array.
type ArrayFields struct {
	Shape []int64
	Dtype string
	Bytes uint64 // of its elements
	Known bool   // the size of an element is
}

func (s *Sizer) ReadArray(addr uint64) (a ArrayFields) {
	const nd, dimensions, descr, most = 24, 32, 56, 64
	axes := s.Mem.Int32(addr + nd)
	if axes < 0 || axes > most {
		return a
	}
	elements, sane := uint64(1), true
	s.Mem.Words(s.Mem.Word(addr+dimensions), uint64(axes), func(_, length uint64) bool {
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
	dtype, size, ok := s.Dtype(s.Mem.Word(addr + descr))
	if ok && size > 0 && elements > UserSpace/size {
		return ArrayFields{}
	}
	a.Dtype, a.Bytes, a.Known = dtype, elements*size, ok
	return a
}

// Dtype reads a PyArray_Descr: kind, type and byte order at 24, 25 and 26, the type's number at 28, and how many bytes
// an element has at 32 (int) up to NumPy 1, at 40 (npy_intp) from 2 on (numpy/ndarraytypes.h).
func (s *Sizer) Dtype(descr uint64) (name string, size uint64, ok bool) {
	raw := s.Mem.Bytes(descr, 56)
	if raw == nil {
		return "", 0, false
	}
	kind, order, number := raw[24], raw[26], binary.LittleEndian.Uint32(raw[28:])
	switch s.Sizes.Numpy {
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
	return DtypeName(kind, order, size), size, true
}

// DtypeName is a dtype as NumPy prints it, "" where that takes more than its kind and size.
func DtypeName(kind, order byte, size uint64) string {
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

// KindObject is NumPy's letter for references to objects.
const KindObject = 'O'
