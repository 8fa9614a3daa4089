package objects

import "slices"

// Bounds of the fields of an element.
const (
	maxFields  = 256
	maxDeep    = 4 // records in records
	maxRecords = 1 << 16
)

// records are elements of an array that are records with objects: where the references are in each, and its size.
type records struct {
	Fields []uint64
	Size   uint64
}

// descrAt are offsets in struct PyArray_Descr, in NumPy 1 and in NumPy 2 (numpy/ndarraytypes.h). NPY_ITEM_HASOBJECT is
// 1 of the flags; fields is a dict of names, each with a tuple of a dtype and an offset in bytes.
var descrAt = map[int]struct{ flags, size, subarray, fields uint64 }{1: {27, 32, 40, 48}, 2: {32, 40, 88, 96}}

// RecordsOf returns the records that an array has of its own.
func RecordsOf(s *Sizer, array uint64) (r records) {
	if s.Sizes == nil || s.Mem.Word(array+ArrayBase) != 0 {
		return r
	}
	at, known := descrAt[s.Sizes.NumPy]
	dtype := s.Mem.Word(array + ArrayDescr)
	flags := s.Mem.Bytes(dtype+at.flags, 1)
	if !known || dtype == 0 || flags == nil || flags[0]&1 == 0 {
		return r
	}
	if r.Size = uint64(uint32(s.Mem.Int32(dtype + at.size))); r.Size >= 8 && r.Size <= maxRecords {
		s.fieldsOf(&r, dtype, 0, 0)
	}
	return r
}

// fieldsOf finds the references in records of a dtype, which begin at an offset. Arrays in records are left out.
func (s *Sizer) fieldsOf(r *records, dtype, offset uint64, depth int) {
	at := descrAt[s.Sizes.NumPy]
	fields, left := s.Mem.Word(dtype+at.fields), maxFields
	if s.Mem.Word(dtype+at.subarray) != 0 || depth == maxDeep || !s.IsShape(fields, ShapeDict) {
		return
	}
	s.Entries(fields, func(_, value uint64) bool {
		if left--; left < 0 || !s.IsShape(value, ShapeTuple) || s.Mem.Word(value+uint64(s.Heap.VarSize)) < 2 {
			return left >= 0
		}
		of := s.Mem.Word(value + uint64(s.Heap.TupleItems))
		i, ok := s.Integer(s.Mem.Word(value + uint64(s.Heap.TupleItems) + 8))
		k := s.Mem.Bytes(of+descrKind, 1)
		if !ok || i < 0 || k == nil || offset+uint64(i)+8 > r.Size {
			return true
		}
		if k[0] == KindObject {
			if place := offset + uint64(i); !slices.Contains(r.Fields, place) { // a title is a second name
				r.Fields = append(r.Fields, place)
			}
		} else if k[0] == 'V' {
			s.fieldsOf(r, of, offset+uint64(i), depth+1)
		}
		return len(r.Fields) < maxFields
	})
}
