package objects

// FrameType compares the tuple of a manager's blocks with its shape; ok is false if they do not agree. dtype is the
// dtype of all elements, "" if they have different ones.
func (s *Sizer) FrameType(tuple uint64, shape []int64) (dtype string, ok bool) {
	const most = 1 << 12
	if len(shape) < 1 || len(shape) > 2 || shape[0] < 0 || shape[len(shape)-1] < 0 {
		return "", false
	}
	columns, plain, dtypes := int64(0), true, map[string]bool{}
	for _, block := range s.Tuple(tuple, most+1) {
		found := false
		s.Fields(block, func(word uint64, t *Type) {
			if found || t.Shape != ShapeArray {
				return
			}
			a := s.ReadArray(word)
			if n := len(a.Shape); n != len(shape) || a.Shape[n-1] != shape[0] {
				return
			}
			found = true
			if len(a.Shape) == 2 {
				columns += a.Shape[0]
			}
			dtypes[a.DType] = true
		})
		plain = plain && found
	}
	if len(shape) == 2 && plain && columns != shape[1] || len(shape) == 1 && !plain && len(dtypes) > 0 {
		return "", false
	}
	if plain && len(dtypes) == 1 {
		for d := range dtypes {
			dtype = d
		}
	}
	return dtype, true
}

// Fields calls yield for each object that an instance refers to in its own words or as an attribute.
func (s *Sizer) Fields(addr uint64, yield func(addr uint64, t *Type)) {
	t := s.ObjectType(addr)
	if t == nil {
		return
	}
	const maxAttributes = 64
	yieldObject := func(word uint64) {
		if word&7 != 0 {
			return
		}
		if fieldType := s.ObjectType(word); fieldType != nil {
			yield(word, fieldType)
		}
	}
	s.Mem.Words(addr+16, (min(t.Basic, MaxBasic)-16)/8, func(_, word uint64) bool {
		yieldObject(word)
		return true
	})
	n := 0
	s.Attributes(addr, t, func(_, value uint64) bool {
		yieldObject(value)
		n++
		return n < maxAttributes
	})
}

// IndexLength returns the length of a pandas Index, -1 if it is not known, and the dtype of its elements. An Index has
// an array, a range, or the codes of its levels.
func (s *Sizer) IndexLength(addr uint64, depth int) (length int64, dtype string) {
	const deepest = 3
	t := s.ObjectType(addr)
	if t == nil || depth > deepest {
		return -1, ""
	}
	switch {
	case t.Shape == ShapeArray:
		if a := s.ReadArray(addr); len(a.Shape) == 1 {
			return a.Shape[0], a.DType
		}
		return -1, ""
	case t.Name == "range":
		const length = 40 // start, stop, step, length: Objects/rangeobject.c
		if n, ok := s.Integer(s.Mem.Word(addr + length)); ok && n >= 0 {
			return n, "int64"
		}
		return -1, ""
	case t.Shape == ShapeList: // codes of a MultiIndex, one array for each level
		n, _ := s.IndexLength(s.Mem.Word(s.Mem.Word(addr+uint64(s.Heap.ListItems))), depth+1)
		return n, ""
	}
	for _, name := range []string{"_range", "_codes", "_data", "_ndarray"} {
		if data := s.Attribute(addr, t, name); data != 0 {
			return s.IndexLength(data, depth+1)
		}
	}
	length = -1
	s.Fields(addr, func(word uint64, t *Type) { // an array with its data in a Cython class
		if length < 0 && t.Shape == ShapeArray {
			length, dtype = s.IndexLength(word, depth+1)
		}
	})
	return length, dtype
}

// Managed returns the axes and the blocks that a manager has, 0 for none.
func Managed(s *Sizer, manager uint64) (axes, blocks uint64) {
	return s.first(manager, ShapeList), s.first(manager, ShapeTuple)
}

// first returns the first object of a shape that an instance refers to, 0 for none.
func (s *Sizer) first(addr uint64, wanted shape) (found uint64) {
	s.Fields(addr, func(word uint64, t *Type) {
		if found == 0 && t.Shape == wanted {
			found = word
		}
	})
	return found
}

// IndexArray returns the array of an index's labels, 0 for none.
func (s *Sizer) IndexArray(addr uint64, depth int) uint64 {
	const deepest = 3
	t := s.ObjectType(addr)
	switch {
	case t == nil || depth > deepest:
		return 0
	case t.Shape == ShapeArray:
		return addr
	}
	for _, name := range []string{"_data", "_ndarray"} {
		if data := s.Attribute(addr, t, name); data != 0 {
			return s.IndexArray(data, depth+1)
		}
	}
	return s.first(addr, ShapeArray)
}

// ValuesOf returns the NumPy array with the elements of a block, 0 for none.
func (s *Sizer) ValuesOf(block uint64) (array uint64) {
	s.Fields(block, func(word uint64, t *Type) {
		switch {
		case array != 0:
		case t.Shape == ShapeArray:
			array = word
		default:
			array = s.Backing(word, t)
		}
	})
	return array
}

// Backing returns the NumPy array that has all elements of an array of pandas' own: of dates, or of texts that are
// objects. It returns 0 for other arrays.
func (s *Sizer) Backing(addr uint64, t *Type) (array uint64) {
	switch t.Name {
	case "DatetimeArray", "TimedeltaArray", "StringArray", "StringArrayNumpySemantics":
		return s.first(addr, ShapeArray)
	}
	return 0
}

// RowOf returns the row of a block's array that has column i: i, or Whole if the array has one axis.
func (s *Sizer) RowOf(array uint64, i int) int64 {
	if len(s.ReadArray(array).Shape) == 2 {
		return int64(i)
	}
	return Whole
}

// Whole is the place of all elements of an array, not of one row.
const Whole = -1
