package holders

// frameType compares the blocks of a manager with its shape. dtype is that of all elements, if they have one.
func (s *sizer) frameType(tuple uint64, shape []int64) (dtype string, ok bool) {
	const most = 1 << 12
	if len(shape) < 1 || len(shape) > 2 || shape[0] < 0 || shape[len(shape)-1] < 0 {
		return "", false
	}
	columns, plain, dtypes := int64(0), true, map[string]bool{}
	for _, block := range s.tuple(tuple, most+1) {
		found := false
		s.fields(block, func(word uint64, t *typ) {
			if found || t.shape != shapeArray {
				return
			}
			a := s.readArray(word)
			if n := len(a.shape); n != len(shape) || a.shape[n-1] != shape[0] {
				return
			}
			found = true
			if len(a.shape) == 2 {
				columns += a.shape[0]
			}
			dtypes[a.dtype] = true
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

// fields calls yield for each object that an instance refers to in its own words or as an attribute.
func (s *sizer) fields(addr uint64, yield func(addr uint64, t *typ)) {
	t := s.objectType(addr)
	if t == nil {
		return
	}
	one := func(word uint64) {
		if word&7 == 0 {
			if of := s.objectType(word); of != nil {
				yield(word, of)
			}
		}
	}
	s.mem.words(addr+16, (min(t.basic, maxBasic)-16)/8, func(_, word uint64) bool {
		one(word)
		return true
	})
	n := 0
	s.attributes(addr, t, func(_, value uint64) bool {
		one(value)
		n++
		return n < 64
	})
}

// indexLength is how long a pandas Index is, -1 if that is not known, and the type of its elements: it has an array, a range,
// or the codes of its levels.
func (s *sizer) indexLength(addr uint64, depth int) (length int64, dtype string) {
	const deepest = 3
	t := s.objectType(addr)
	if t == nil || depth > deepest {
		return -1, ""
	}
	switch {
	case t.shape == shapeArray:
		if a := s.readArray(addr); len(a.shape) == 1 {
			return a.shape[0], a.dtype
		}
		return -1, ""
	case t.name == "range":
		const length = 40 // start, stop, step, length: Objects/rangeobject.c
		if n, ok := s.integer(s.mem.word(addr + length)); ok && n >= 0 {
			return n, "int64"
		}
		return -1, ""
	case t.shape == shapeList: // codes of a MultiIndex, one array for each level
		n, _ := s.indexLength(s.mem.word(s.mem.word(addr+uint64(s.heap.ListItems))), depth+1)
		return n, ""
	}
	for _, name := range []string{"_range", "_codes", "_data", "_ndarray"} {
		if of := s.attribute(addr, t, name); of != 0 {
			return s.indexLength(of, depth+1)
		}
	}
	length = -1
	s.fields(addr, func(word uint64, t *typ) { // an array with its data in a Cython class
		if length < 0 && t.shape == shapeArray {
			length, dtype = s.indexLength(word, depth+1)
		}
	})
	return length, dtype
}

// managed are the axes and the blocks that a manager has, 0 for none: see [lister.describeFrameOf].
func managed(s *sizer, manager uint64) (axes, blocks uint64) {
	s.fields(manager, func(word uint64, t *typ) {
		switch {
		case axes == 0 && t.shape == shapeList:
			axes = word
		case blocks == 0 && t.shape == shapeTuple:
			blocks = word
		}
	})
	return axes, blocks
}

// indexArray is the array that an index has its labels in, 0 for none.
func (s *sizer) indexArray(addr uint64, depth int) uint64 {
	const deepest = 3
	t := s.objectType(addr)
	switch {
	case t == nil || depth > deepest:
		return 0
	case t.shape == shapeArray:
		return addr
	}
	for _, name := range []string{"_data", "_ndarray"} {
		if of := s.attribute(addr, t, name); of != 0 {
			return s.indexArray(of, depth+1)
		}
	}
	found := uint64(0)
	s.fields(addr, func(word uint64, t *typ) {
		if found == 0 && t.shape == shapeArray {
			found = word
		}
	})
	return found
}

// valuesOf returns the array of a block of one column.
func (s *sizer) valuesOf(block uint64) (array uint64) {
	s.fields(block, func(word uint64, t *typ) {
		switch {
		case array != 0:
		case t.shape == shapeArray:
			array = word
		default:
			array = s.backing(word, t)
		}
	})
	return array
}

// backing returns the array that an array of pandas' own has all of its elements in, 0 for none: of dates, or of
// objects that are texts.
func (s *sizer) backing(addr uint64, t *typ) (array uint64) {
	switch t.name {
	case "DatetimeArray", "TimedeltaArray", "StringArray", "StringArrayNumpySemantics":
	default:
		return 0
	}
	s.fields(addr, func(word uint64, t *typ) {
		if array == 0 && t.shape == shapeArray {
			array = word
		}
	})
	return array
}

// rowOf returns the row of an array that is one of several columns.
func (s *sizer) rowOf(array uint64, i int) int64 {
	if len(s.readArray(array).shape) == 2 {
		return int64(i)
	}
	return whole
}

// whole is the place of all elements of an array, not of one row.
const whole = -1
