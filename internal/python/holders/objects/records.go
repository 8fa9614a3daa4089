package objects

import "slices"

// Bounds of the fields of an element.
const (
	maxFields  = 256
	maxDeep    = 4 // records in records
	maxRecords = 1 << 16
)

// records describes an array whose elements are records with references.
type records struct {
	Fields []uint64 // the offsets of the references in a record
	Size   uint64   // of a record, in bytes
}

// descrAt has offsets in struct PyArray_Descr, in NumPy 1 and in NumPy 2 (numpy/ndarraytypes.h). The lowest bit of
// flags is NPY_ITEM_HASOBJECT. fields is a dict from names to tuples of a dtype and an offset in bytes.
var descrAt = map[int]struct{ flags, size, subarray, fields uint64 }{1: {27, 32, 40, 48}, 2: {32, 40, 88, 96}}

// RecordsOf describes the records of an array that owns its data. It has no fields for other arrays.
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
		fieldType := s.Mem.Word(value + uint64(s.Heap.TupleItems))
		fieldOffset, ok := s.Integer(s.Mem.Word(value + uint64(s.Heap.TupleItems) + 8))
		kind := s.Mem.Bytes(fieldType+descrKind, 1)
		if !ok || fieldOffset < 0 || kind == nil || offset+uint64(fieldOffset)+8 > r.Size {
			return true
		}
		place := offset + uint64(fieldOffset)
		switch {
		case kind[0] == KindObject && !slices.Contains(r.Fields, place): // a field with a title is there twice
			r.Fields = append(r.Fields, place)
		case kind[0] == kindRecord:
			s.fieldsOf(r, fieldType, place, depth+1)
		}
		return len(r.Fields) < maxFields
	})
}
