package holders

import "slices"

// Bounds of the fields of an element.
const (
	maxFields  = 256
	maxDeep    = 4 // records in records
	maxRecords = 1 << 16
)

// records are elements of an array that are records with objects: where the references are in each, and its size.
type records struct {
	fields []uint64
	size   uint64
}

// descrAt are offsets in struct PyArray_Descr, in NumPy 1 and in NumPy 2 (numpy/ndarraytypes.h). NPY_ITEM_HASOBJECT is
// 1 of the flags; fields is a dict of names, each with a tuple of a dtype and an offset in bytes.
var descrAt = map[int]struct{ flags, size, subarray, fields uint64 }{1: {27, 32, 40, 48}, 2: {32, 40, 88, 96}}

// recordsOf returns the records that an array has of its own.
func recordsOf(s *sizer, array uint64) (r records) {
	const descr = 56
	if s.sizes == nil || s.mem.word(array+arrayBase) != 0 {
		return r
	}
	at, known := descrAt[s.sizes.numpy]
	dtype := s.mem.word(array + descr)
	flags := s.mem.bytes(dtype+at.flags, 1)
	if !known || dtype == 0 || flags == nil || flags[0]&1 == 0 {
		return r
	}
	if r.size = uint64(uint32(s.mem.int32(dtype + at.size))); r.size >= 8 && r.size <= maxRecords {
		s.fieldsOf(&r, dtype, 0, 0)
	}
	return r
}

// fieldsOf finds the references in records of a dtype, which begin at an offset. Arrays in records are left out.
func (s *sizer) fieldsOf(r *records, dtype, offset uint64, depth int) {
	const kind = 24
	at := descrAt[s.sizes.numpy]
	fields, left := s.mem.word(dtype+at.fields), maxFields
	if s.mem.word(dtype+at.subarray) != 0 || depth == maxDeep || !s.isShape(fields, shapeDict) {
		return
	}
	s.entries(fields, func(_, value uint64) bool {
		if left--; left < 0 || !s.isShape(value, shapeTuple) || s.mem.word(value+uint64(s.heap.VarSize)) < 2 {
			return left >= 0
		}
		of := s.mem.word(value + uint64(s.heap.TupleItems))
		i, ok := s.integer(s.mem.word(value + uint64(s.heap.TupleItems) + 8))
		k := s.mem.bytes(of+kind, 1)
		if !ok || i < 0 || k == nil || offset+uint64(i)+8 > r.size {
			return true
		}
		if k[0] == kindObject {
			if place := offset + uint64(i); !slices.Contains(r.fields, place) { // a title is a second name
				r.fields = append(r.fields, place)
			}
		} else if k[0] == 'V' {
			s.fieldsOf(r, of, offset+uint64(i), depth+1)
		}
		return len(r.fields) < maxFields
	})
}
