package objects

import "ipytracer/internal/python/cpython"

// Measure returns the bytes that an object has of its own: itself, with the words in front of it, and its buffers, as
// the allocator rounds them up. known is false where it may have more: an object of a library in C or C++ does not show
// its other memory.
func (s *Sizer) Measure(addr uint64, t *Type) (bytes uint64, known bool) {
	size, more, known := s.body(addr, t)
	total := allocated(size+s.Prefix(t)) + more
	if size <= MaxBasic {
		s.Sizes.reportBlock(addr-s.Prefix(t), allocated(size+s.Prefix(t)))
	} else if inPlace, ok := s.Sizes.Buffer(addr, size); ok { // the object has its data in itself
		total = inPlace + more
	} else {
		total, known = more, false
	}
	if t.Shape != ShapeDict {
		total += s.inlineValues(addr, t)
	}
	return total, known
}

// Prefix returns the size of the words in front of an object: PyGC_Head, and from 3.11 on two words for attributes and
// weak references (Include/internal/pycore_object.h, _PyType_PreHeaderSize).
func (s *Sizer) Prefix(t *Type) (bytes uint64) {
	const managedWeak = 1 << 3
	if t.Flags&cpython.FlagGC != 0 {
		bytes = 16
	}
	managed := uint64(cpython.FlagManagedDict)
	if s.Heap.Version.Minor >= 12 {
		managed |= managedWeak
	}
	if s.Heap.Version.Minor >= 11 && t.Flags&managed != 0 {
		bytes += 16
	}
	return bytes
}

// body returns the size of the object proper and, rounded up, the size of its buffers.
func (s *Sizer) body(addr uint64, t *Type) (size, more uint64, known bool) {
	size, known = t.Basic, true
	count := s.Mem.Word(addr + uint64(s.Heap.VarSize))
	buffer := func(at, bytes uint64) {
		more, known = s.Sizes.Buffer(at, bytes)
	}
	switch {
	case t.Flags&cpython.FlagStr != 0:
		size, more, known = s.textSize(addr, t)
	case t.Flags&cpython.FlagBytes != 0:
		size = t.Basic + min(count, UserSpace)
	case t.Flags&cpython.FlagInt != 0:
		size = t.Basic + 4*max(1, s.digits(addr))
	case t.Shape == ShapeDict:
		more, known = s.dictSize(addr)
	case t.Shape == ShapeList:
		buffer(s.Mem.Word(addr+uint64(s.Heap.ListItems)), min(s.Mem.Word(addr+uint64(s.Heap.ListItems)+8), UserSpace)*8)
	case t.Shape == ShapeTuple:
		size = t.Basic + 8*min(count, UserSpace)
	case t.Shape == ShapeSet:
		if table := s.Mem.Word(addr + cpython.SetTable); table-addr > t.Basic { // not the small one in the object
			buffer(table, 16*(min(s.Mem.Word(addr+cpython.SetMask), UserSpace)+1))
		}
	case t.Shape == ShapeDeque:
		more = s.dequeSize(addr)
	case t.Shape == ShapeArray:
		more, known = s.arraySize(addr)
	case t.Shape == ShapeWords || t.Shape == ShapeLeaf:
		return s.otherSize(addr, t)
	}
	return size, more, known
}

// dequeSize returns the size of a deque's blocks, of 64 items and two links each (Modules/_collectionsmodule.c). The
// items begin at an index in the first block.
func (s *Sizer) dequeSize(addr uint64) uint64 {
	const itemsOfBlock, block = 64, 66 * 8
	length, first := min(s.Mem.Word(addr+16), 1<<40), s.Mem.Word(addr+40)%itemsOfBlock
	blocks := (first + length + itemsOfBlock - 1) / itemsOfBlock
	return blocks * allocated(block)
}

// ItemBuffer returns the buffer of a bytearray, or of an array.array, and its size; 0 for other objects.
func (s *Sizer) ItemBuffer(addr uint64, lineage Lineage) (at, size uint64) {
	word := func(at uint64) uint64 { return s.Mem.Word(addr + at) }
	switch lineage.Origin {
	case "bytearray": // ob_alloc, ob_bytes
		return word(32), min(word(24), UserSpace)
	case "array.array": // ob_item, allocated, ob_descr, which has the size of an item behind a letter
		return word(24), min(word(32), UserSpace) * uint64(max(0, s.Mem.Int32(word(40)+4)))
	}
	return 0, 0
}

// otherSize does what body does, for types that are known by their names.
func (s *Sizer) otherSize(addr uint64, t *Type) (size, more uint64, known bool) {
	const maxItems = 1 << 20
	lineage := s.Lineage(t)
	size, known = t.Basic, !lineage.hides
	word := func(at uint64) uint64 { return s.Mem.Word(addr + at) }
	switch {
	case lineage.Origin == "bytearray", lineage.Origin == "array.array":
		more, known = s.Sizes.Buffer(s.ItemBuffer(addr, lineage))
	case t.Name == TreeType:
		more, known = treeSize(s, addr, t)
	case t.Name == Element:
		more, known = s.elementSize(addr)
	case t.Name == "_io.StringIO": // buf, pos, string_size, buf_size in characters of 4 bytes
		more, known = s.Sizes.Buffer(word(16), 4*min(word(40), UserSpace))
	case lineage.Origin == "_ctypes._CData": // b_ptr, b_needsfree, b_base, b_size
		if at := word(16); word(24)&1 != 0 && at-addr > t.Basic {
			more, known = s.Sizes.Buffer(at, min(word(40), UserSpace))
		}
	case t.Item > 0:
		size += t.Item * min(s.Mem.Word(addr+uint64(s.Heap.VarSize)), maxItems)
	}
	if lineage.hides {
		s.Sizes.Foreign.addObject(addr)
		more += s.foreignSize(addr)
	}
	return size, more, known
}

// textSize does what body does, for a str (Include/cpython/unicodeobject.h). A str that is not ASCII may keep its UTF-8
// as well.
func (s *Sizer) textSize(addr uint64, t *Type) (size, more uint64, known bool) {
	h := &s.Heap
	length, state := min(s.Mem.Word(addr+uint64(h.StrLength)), UserSpace), uint32(s.Mem.Int32(addr+uint64(h.StrState)))
	kind, compact, ascii := h.Text(state)
	if compact && ascii {
		return uint64(h.ASCIIData) + length + 1, 0, true
	}
	if compact {
		size, known = uint64(h.CompactData)+(length+1)*kind, true
	} else {
		size = t.Basic
		more, known = s.Sizes.Buffer(s.Mem.Word(addr+uint64(h.CompactData)), (length+1)*kind)
	}
	if bytes, at := s.Mem.Word(addr+uint64(h.ASCIIData)), s.Mem.Word(addr+uint64(h.ASCIIData)+8); at != 0 && !ascii {
		also, ok := s.Sizes.Buffer(at, min(bytes, UserSpace)+1)
		more, known = more+also, known && ok
	}
	return size, more, known
}

// digits returns how many digits of 30 bits an int has.
func (s *Sizer) digits(addr uint64) uint64 {
	tag := int64(s.Mem.Word(addr + 16))
	if s.Heap.Version.Minor >= 12 {
		return min(uint64(tag)>>3, UserSpace)
	}
	return min(uint64(max(tag, -tag)), UserSpace)
}

// dictSize returns the size of a dict's table, unless the dict shares the table, and of its values if these are apart
// from the table.
func (s *Sizer) dictSize(dict uint64) (bytes uint64, known bool) {
	at := s.Mem.Word(dict + uint64(s.Heap.DictKeys))
	if values := s.Mem.Word(dict + uint64(s.Heap.DictValues)); values != 0 {
		if s.Heap.Version.Minor >= 13 {
			return 0, true // in the object, or as many again: a few words
		}
		s.Sizes.reportBlock(values, allocated(s.valuesSize(at)))
		return allocated(s.valuesSize(at)), true
	}
	size := s.tableSize(at)
	if size == 0 {
		return 0, true
	}
	return s.Sizes.Buffer(at, size)
}

// tableSize returns the size of a PyDictKeysObject: its header, indices, and room for entries at two thirds of its
// places (Objects/dictobject.c). Empty dicts share a table of one place, or of eight places that are never used: that
// table belongs to no object.
func (s *Sizer) tableSize(at uint64) uint64 {
	k, ok := s.readKeys(at)
	if !ok {
		return 0
	}
	places := s.places(at)
	if places <= 1 {
		return 0
	}
	return k.Entries - at + places*2/3*k.Stride
}

// places returns how many places a table of keys has.
func (s *Sizer) places(at uint64) uint64 {
	if s.Heap.Version.Minor <= 10 {
		return min(s.Mem.Word(at+8), cpython.MaxEntries)
	}
	if head := s.Mem.Bytes(at+8, 1); head != nil {
		return 1 << min(head[0], 40)
	}
	return 0
}

// valuesSize returns the size of values that share a table of keys: a word for each value that has room. From 3.11 on
// two bytes and a byte for each value are in front: the order of the values. The room shrinks, as instances are made,
// to the part that they use (Objects/dictobject.c, init_inline_values).
func (s *Sizer) valuesSize(keys uint64) uint64 {
	usable, used := uint64(16), uint64(24) // dk_usable, dk_nentries
	if s.Heap.Version.Minor <= 10 {
		usable, used = 24, 32
	}
	room := min(s.Mem.Word(keys+usable)+s.Mem.Word(keys+used), 1<<16)
	if s.Heap.Version.Minor <= 10 {
		return 8 * room
	}
	return (room+2+7)&^7 + 8*room
}

// inlineValues returns the size of an instance's attributes where these have no dict. They are a piece of memory of
// their own. From 3.13 on they are a part of the object, which has the number of attributes that have room.
func (s *Sizer) inlineValues(addr uint64, t *Type) uint64 {
	minor := s.Heap.Version.Minor
	switch {
	case minor < 11 || t.Flags&cpython.FlagManagedDict == 0:
	case minor == 11 && s.Mem.Word(addr-32) != 0, minor == 12 && s.Mem.Word(addr-24)&1 != 0:
		bytes := allocated(s.valuesSize(s.Mem.Word(t.Addr + uint64(s.Heap.CachedKeys))))
		if _, values := s.AttributesAt(addr, t); values != 0 {
			s.Sizes.reportBlock(values, bytes)
		}
		return bytes
	case minor >= 13 && t.Flags&cpython.FlagInlineValues != 0:
		room := s.Mem.Word(addr+t.Basic) & 0xff
		return 8*(room+1) + (room+7)&^7
	}
	return 0
}

// foreignSize returns the bytes of a library's object that lie in pieces of malloc's.
func (s *Sizer) foreignSize(addr uint64) (bytes uint64) {
	for _, piece := range s.Sizes.Foreign.Pieces[addr] {
		if s.PieceSize(piece.Address) == piece.Size {
			s.Sizes.reportBlock(piece.Address, piece.Size)
			bytes += piece.Size
		}
	}
	return bytes
}
