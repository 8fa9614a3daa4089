package holders

import (
	"cmp"
	"slices"
	"strings"

	"ipytracer/internal/python/cpython"
)

// sizes has everything that it takes to find the memory of an object.
type sizes struct {
	mapped   []Block // the process's mappings, by address: no buffer is larger
	heap     Block   // of malloc's, before the program's break
	numpy    int     // major version of NumPy, 0 if it is not known
	lineages map[*typ]lineage
	foreign  foreign
	placed   func(addr, bytes uint64) // takes each block that is measured; nil: nobody asks
}

// place tells whoever asks where a block is.
func (s *sizes) place(addr, bytes uint64) {
	if s.placed != nil {
		s.placed(addr, bytes)
	}
}

// sizer finds the memory of objects.
type sizer struct {
	reader
	sizes *sizes // nil where no sizes are needed
}

// measure returns the bytes that an object has of its own: itself, with the words in front of it, and its buffers, as
// the allocator rounds them up. known is false where it may have more: an object of a library in C or C++ does not show
// its other memory.
func (s *sizer) measure(addr uint64, t *typ) (bytes uint64, known bool) {
	size, more, known := s.body(addr, t)
	total := allocated(size+s.prefix(t)) + more
	if size > maxBasic { // it has its data in itself
		if in, ok := s.sizes.buffer(addr, size); ok {
			total = in + more
		} else {
			total, known = more, false
		}
	} else {
		s.sizes.place(addr-s.prefix(t), allocated(size+s.prefix(t)))
	}
	if t.shape != shapeDict {
		total += s.inlineValues(addr, t)
	}
	return total, known
}

// prefix is the size of the words in front of an object: PyGC_Head, and from 3.11 on two words for attributes and weak
// references (Include/internal/pycore_object.h, _PyType_PreHeaderSize).
func (s *sizer) prefix(t *typ) (bytes uint64) {
	const managedWeak = 1 << 3
	if t.flags&cpython.FlagGC != 0 {
		bytes = 16
	}
	managed := uint64(cpython.FlagManagedDict)
	if s.heap.Version.Minor >= 12 {
		managed |= managedWeak
	}
	if s.heap.Version.Minor >= 11 && t.flags&managed != 0 {
		bytes += 16
	}
	return bytes
}

// body is the size of the object proper and, rounded up, that of its buffers.
func (s *sizer) body(addr uint64, t *typ) (size, more uint64, known bool) {
	size, known = t.basic, true
	count := s.mem.word(addr + uint64(s.heap.VarSize))
	buffer := func(at, bytes uint64) {
		more, known = s.sizes.buffer(at, bytes)
	}
	switch {
	case t.flags&cpython.FlagStr != 0:
		size, more, known = s.textSize(addr, t)
	case t.flags&cpython.FlagBytes != 0:
		size = t.basic + min(count, userSpace)
	case t.flags&cpython.FlagInt != 0:
		size = t.basic + 4*max(1, s.digits(addr))
	case t.shape == shapeDict:
		more, known = s.dictSize(addr)
	case t.shape == shapeList:
		buffer(s.mem.word(addr+uint64(s.heap.ListItems)), min(s.mem.word(addr+uint64(s.heap.ListItems)+8), userSpace)*8)
	case t.shape == shapeTuple:
		size = t.basic + 8*min(count, userSpace)
	case t.shape == shapeSet:
		if table := s.mem.word(addr + cpython.SetTable); table-addr > t.basic { // not the small one in the object
			buffer(table, 16*(min(s.mem.word(addr+cpython.SetMask), userSpace)+1))
		}
	case t.shape == shapeDeque:
		const items, block = 64, 66 * 8
		more = (min(s.mem.word(addr+16), 1<<40) + s.mem.word(addr+40)%items + items - 1) / items * allocated(block)
	case t.shape == shapeArray:
		more, known = s.arraySize(addr)
	case t.shape == shapeWords || t.shape == shapeLeaf:
		return s.otherSize(addr, t)
	}
	return size, more, known
}

// otherSize is body for types that are recognized by their names.
func (s *sizer) otherSize(addr uint64, t *typ) (size, more uint64, known bool) {
	const most = 1 << 20
	of := s.lineage(t)
	size, known = t.basic, !of.hides
	word := func(at uint64) uint64 { return s.mem.word(addr + at) }
	switch {
	case of.origin == "bytearray": // ob_alloc, ob_bytes
		more, known = s.sizes.buffer(word(32), min(word(24), userSpace))
	case of.origin == "array.array": // ob_item, allocated, ob_descr, which has the size of an item behind a letter
		more, known = s.sizes.buffer(word(24), min(word(32), userSpace)*uint64(max(0, s.mem.int32(word(40)+4))))
	case t.name == treeType:
		more, known = treeSize(s, addr, t)
	case t.name == element:
		more, known = s.elementSize(addr)
	case t.name == "_io.StringIO": // buf, pos, string_size, buf_size in characters of 4 bytes
		more, known = s.sizes.buffer(word(16), 4*min(word(40), userSpace))
	case of.origin == "_ctypes._CData": // b_ptr, b_needsfree, b_base, b_size
		if at := word(16); word(24)&1 != 0 && at-addr > t.basic {
			more, known = s.sizes.buffer(at, min(word(40), userSpace))
		}
	case t.item > 0:
		size += t.item * min(s.mem.word(addr+uint64(s.heap.VarSize)), most)
	}
	if of.hides {
		s.sizes.foreign.hiding(addr)
		more += s.foreignSize(addr)
	}
	return size, more, known
}

// hides are types of Python itself with memory of an unknown size, or memory that may not be the process's alone.
var hides = map[string]bool{
	"PyCapsule": true, "_io.BufferedReader": true, "_io.BufferedWriter": true,
	"_io.BufferedRandom": true,
	"zlib.Compress":      true, "zlib.Decompress": true, "sqlite3.Connection": true, "pyexpat.xmlparser": true,
	"numpy.void": true,
}

// plain are libraries in C with objects that have nothing beyond themselves and the objects that they refer to.
var plain = []string{"pandas._libs.internals.", "pandas._libs.index.", "pandas._libs.lib.", "pandas._libs.properties.",
	"pandas._libs.tslibs.", "pandas._libs.indexing."}

func isPlain(name string) bool {
	for _, p := range plain {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return strings.Contains(name, "cython_function_or_method")
}

// lineage has the names of a type and of its bases.
type lineage struct {
	names  []string
	origin string // the first that otherSize knows; "" for none
	hides  bool   // one is of a library in C or C++ that may have memory of its own
}

func (s *sizer) lineage(t *typ) lineage {
	if found, ok := s.sizes.lineages[t]; ok {
		return found
	}
	var found lineage
	for at, n := t.addr, 0; at != 0 && n < maxBases; n++ {
		name := s.mem.cString(s.mem.word(at+uint64(s.heap.TypeName)), maxName)
		found.names = append(found.names, name)
		switch name {
		case "bytearray", "array.array", "_ctypes._CData":
			found.origin = cmp.Or(found.origin, name)
		}
		found.hides = found.hides || s.isForeign(name, at)
		next := s.mem.word(at + cpython.TypeBase)
		if next == at {
			break
		}
		at = next
	}
	s.sizes.lineages[t] = found
	return found
}

// is reports whether one of the types has the name.
func (l lineage) is(name string) bool { return slices.Contains(l.names, name) }

// textSize is body for a str: Include/cpython/unicodeobject.h. A str that is not ASCII may have its UTF-8 as well.
func (s *sizer) textSize(addr uint64, t *typ) (size, more uint64, known bool) {
	h := &s.heap
	length, state := min(s.mem.word(addr+uint64(h.StrLength)), userSpace), uint32(s.mem.int32(addr+uint64(h.StrState)))
	kind, compact, ascii := h.Text(state)
	if compact && ascii {
		return uint64(h.ASCIIData) + length + 1, 0, true
	}
	if compact {
		size, known = uint64(h.CompactData)+(length+1)*kind, true
	} else {
		size = t.basic
		more, known = s.sizes.buffer(s.mem.word(addr+uint64(h.CompactData)), (length+1)*kind)
	}
	if bytes, at := s.mem.word(addr+uint64(h.ASCIIData)), s.mem.word(addr+uint64(h.ASCIIData)+8); at != 0 && !ascii {
		also, ok := s.sizes.buffer(at, min(bytes, userSpace)+1)
		more, known = more+also, known && ok
	}
	return size, more, known
}

// digits is how many digits of 30 bits an int has.
func (s *sizer) digits(addr uint64) uint64 {
	tag := int64(s.mem.word(addr + 16))
	if s.heap.Version.Minor >= 12 {
		return min(uint64(tag)>>3, userSpace)
	}
	return min(uint64(max(tag, -tag)), userSpace)
}

// dictSize is the table of a dict, unless it shares it, and its values if these are apart.
func (s *sizer) dictSize(dict uint64) (bytes uint64, known bool) {
	at := s.mem.word(dict + uint64(s.heap.DictKeys))
	if values := s.mem.word(dict + uint64(s.heap.DictValues)); values != 0 {
		if s.heap.Version.Minor >= 13 {
			return 0, true // in the object, or as many again: a few words
		}
		s.sizes.place(values, allocated(s.valuesSize(at)))
		return allocated(s.valuesSize(at)), true
	}
	size := s.tableSize(at)
	if size == 0 {
		return 0, true
	}
	return s.sizes.buffer(at, size)
}

// tableSize is the size of a PyDictKeysObject: its header, indices, and room for entries at two thirds of its places
// (Objects/dictobject.c). The table of empty dicts, of one place or of eight that are never used, belongs to no object.
func (s *sizer) tableSize(at uint64) uint64 {
	k, ok := s.readKeys(at)
	if !ok {
		return 0
	}
	places := s.places(at)
	if places <= 1 {
		return 0
	}
	return k.entries - at + places*2/3*k.stride
}

// places is how many places a table of keys has.
func (s *sizer) places(at uint64) uint64 {
	if s.heap.Version.Minor <= 10 {
		return min(s.mem.word(at+8), maxEntries)
	}
	if head := s.mem.bytes(at+8, 1); head != nil {
		return 1 << min(head[0], 40)
	}
	return 0
}

// valuesSize is the size of values that share a table of keys: a word for each that there is room for, and in front of
// them, from 3.11 on, their order, a byte each. The room shrinks as instances are made, to the part that they use
// (Objects/dictobject.c, init_inline_values).
func (s *sizer) valuesSize(keys uint64) uint64 {
	usable, used := uint64(16), uint64(24) // dk_usable, dk_nentries
	if s.heap.Version.Minor <= 10 {
		usable, used = 24, 32
	}
	room := min(s.mem.word(keys+usable)+s.mem.word(keys+used), 1<<16)
	if s.heap.Version.Minor <= 10 {
		return 8 * room
	}
	return (room+2+7)&^7 + 8*room
}

// inlineValues is the size of an instance's attributes where they have no dict: a piece of memory of their own, from
// 3.13 on a part of the object, which has the number that it has room for.
func (s *sizer) inlineValues(addr uint64, t *typ) uint64 {
	minor := s.heap.Version.Minor
	switch {
	case minor < 11 || t.flags&cpython.FlagManagedDict == 0:
	case minor == 11 && s.mem.word(addr-32) != 0, minor == 12 && s.mem.word(addr-24)&1 != 0:
		bytes := allocated(s.valuesSize(s.mem.word(t.addr + uint64(s.heap.CachedKeys))))
		if _, values := s.attributesAt(addr, t); values != 0 {
			s.sizes.place(values, bytes)
		}
		return bytes
	case minor >= 13 && t.flags&cpython.FlagInlineValues != 0:
		room := s.mem.word(addr+t.basic) & 0xff
		return 8*(room+1) + (room+7)&^7
	}
	return 0
}

// leastLarge is the least size of a block that the system gets back when it goes, or that a meter of blocks sees go. A
// smaller block lies with others on its pages, and allocators keep it for objects to come.
const leastLarge = 64 << 10

// buffer is how many bytes a buffer of an object takes: none if it does not lie in memory that is mapped.
func (s *sizes) buffer(addr, size uint64) (bytes uint64, known bool) {
	if size == 0 {
		return 0, true
	}
	i, found := searchBlocks(s.mapped, addr)
	if !found {
		i--
	}
	if i < 0 || addr-s.mapped[i].Address >= s.mapped[i].Size || size > s.mapped[i].Size-(addr-s.mapped[i].Address) {
		return 0, false
	}
	s.place(addr, allocated(size))
	s.foreign.buffer(addr, size)
	return allocated(size), true
}

// allocated returns the bytes that CPython's allocator takes for a size: multiples of 16 up to 512, above it malloc
// with a header.
func allocated(size uint64) uint64 {
	const small = 512
	if size <= small {
		return (size + 15) &^ 15
	}
	return (size + 8 + 15) &^ 15
}

// hasMapped reports whether the process has mapped so much memory at an address.
func (s *sizes) hasMapped(addr, size uint64) bool {
	i, found := searchBlocks(s.mapped, addr)
	if !found {
		i--
	}
	return i >= 0 && addr-s.mapped[i].Address < s.mapped[i].Size &&
		size <= s.mapped[i].Size-(addr-s.mapped[i].Address)
}

// isForeign reports whether a type is of a library in C or C++ that may have memory of its own: by its name, or, where
// that has no module's, by its place.
func (s *sizer) isForeign(name string, addr uint64) bool {
	switch {
	case hides[name]:
		return true
	case strings.Contains(name, "."):
		return !isStandard(name) && !isPlain(name)
	}
	return s.mem.word(addr+cpython.TypeFlags)&cpython.FlagHeapType == 0 && !unowned[name] && !s.isKnown(name, addr)
}
