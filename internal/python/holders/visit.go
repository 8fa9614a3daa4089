package holders

import (
	"ipytracer/internal/python/cpython"
)

// visit follows the references of a node.
func (w *walker) visit(n int32) {
	switch {
	case replayed(w, n):
	case w.recorder != nil:
		w.recorder.record(n, func() { visits{w}.lookInto(n) })
	default:
		visits{w}.lookInto(n)
	}
}

// isFrameNode reports whether a node is an interpreter's frame.
func (w *walker) isFrameNode(n int32) bool {
	if w.recorder != nil {
		return w.recorder.isFrameNode(n)
	}
	return w.nodes[n].what == nodeFrame
}

// visits are visits of objects: they find an object's references, by the layout of its type.
type visits struct{ *walker }

// lookInto reads the memory of a node.
func (v visits) lookInto(n int32) {
	addr := v.addrs[n]
	if v.isFrameNode(n) {
		v.frames.visitFrame(n, addr)
		return
	}
	t := v.objectType(addr)
	if t == nil {
		return // it has gone
	}
	switch t.shape {
	case shapeDict:
		v.visitDict(n, addr)
		if isOrdered(v.types, t) {
			v.followKeys(n, addr)
		}
	case shapeList:
		v.visitItems(n, v.mem.word(addr+uint64(v.heap.ListItems)), v.mem.word(addr+uint64(v.heap.ListSize)), labelIndex)
	case shapeTuple:
		v.visitItems(n, addr+uint64(v.heap.TupleItems), v.mem.word(addr+uint64(v.heap.VarSize)), labelIndex)
	case shapeSet:
		v.visitSet(n, addr)
	case shapeDeque:
		v.visitDeque(n, addr)
	case shapeType:
		v.visitType(n, addr)
		return
	case shapeModule:
		v.visitModule(n, addr)
		return
	case shapeFunction:
		v.frames.visitFunction(n, addr)
	case shapeCell:
		v.follow(n, v.mem.word(addr+16), label{})
	case shapeFrame:
		v.frames.visitFrameObject(n, addr)
	case shapeGenerator:
		v.frames.visitGenerator(n, addr, t)
	case shapeTraceback:
		v.follow(n, v.mem.word(addr+cpython.TracebackFrame), named(fixedFrame))
		v.follow(n, v.mem.word(addr+cpython.TracebackNext), named(fixedNext))
	case shapeWeak:
		v.follow(n, v.mem.word(addr+cpython.WeakReferenceCallback), named(fixedCallback))
	case shapeArray:
		v.visitArray(n, addr)
	}
	v.visitInstance(n, addr, t)
}

// visitInstance follows attributes and slots, and whatever else an instance of a type made in C has.
func (v visits) visitInstance(n int32, addr uint64, t *typ) {
	if t.shape != shapeDict || t.dict != 0 || t.flags&cpython.FlagManagedDict != 0 {
		dict := v.attributes(addr, t, func(key, value uint64) bool {
			v.follow(n, value, label{labelName, key})
			return !v.done()
		})
		if dict != 0 {
			v.part(n, dict)
		}
	}
	if end := min(t.basic, maxBasic); t.own < end {
		v.visitWords(n, addr, t, t.own, end)
	}
	if t.shape == shapeWords && t.item == 8 {
		count := min(v.mem.word(addr+uint64(v.heap.VarSize)), maxItems)
		take := v.word
		if t.loose > 0 {
			take = v.looseWord
		}
		v.mem.words(addr+t.basic, count, func(i, word uint64) bool {
			take(n, word, label{labelIndex, i})
			return !v.done()
		})
	}
	if t.name == element {
		v.visitElement(n, addr)
	}
	if t.native {
		v.pieces.visitNative(n, addr, min(t.basic, maxBasic))
	}
	if v.libraries != nil {
		v.libraries.library(n, addr, t)
	}
	v.visitClass(n, t)
}

// visitClass has an instance hold its class, once everything else has been reached.
func (v visits) visitClass(n int32, t *typ) {
	if t.flags&cpython.FlagHeapType != 0 {
		v.refer(n, t.addr, stepClass, named(fixedClass))
	}
}

// visitWords looks at the words of an instance from one offset to another.
func (v visits) visitWords(n int32, addr uint64, t *typ, from, to uint64) {
	from = (from + 7) &^ 7
	if to <= from {
		return
	}
	if t.name == memoryView { // its Py_buffer has the exporter, too, and does not count for it
		v.word(n, v.mem.word(addr+memoryBuffer), label{labelWord, memoryBuffer})
		return
	}
	v.mem.words(addr+from, (to-from)/8, func(i, word uint64) bool {
		v.hidden = from+8*i < t.hides
		v.visitWord(n, t, from+8*i, word)
		v.hidden = false
		return !v.done()
	})
}

// visitWord looks at a word of an instance, at an offset.
func (v visits) visitWord(n int32, t *typ, at, word uint64) {
	switch {
	case at == t.weak && at != 0, t.dict > 0 && at == uint64(t.dict):
	case t.shape == shapeWeak && at < 64: // the list of all weak references to the same object
	case at < t.loose && !v.isSlot(t, at):
		v.looseWord(n, word, label{labelWord, at})
	default:
		v.word(n, word, label{labelWord, at})
	}
}

// word takes a word of an object with a known layout: a reference, the address of a block, or a number.
func (v visits) word(n int32, word uint64, l label) {
	if word >= lowestAddress {
		v.refer(n, word, stepWord, l)
	}
}

// looseWord takes a word of something with an unknown layout; n is -1 for no object.
func (v visits) looseWord(n int32, word uint64, l label) {
	if word < lowestAddress || n >= 0 && v.mayPointAt(n, word) {
		return
	}
	v.beliefs.followBelieved(n, word, l, true)
}

func (v visits) visitDict(n int32, addr uint64) {
	v.entries(addr, func(key, value uint64) bool {
		v.follow(n, value, label{labelKey, key})
		v.refer(n, key, stepKey, label{labelElement, 0})
		return !v.done()
	})
}

// isOrdered reports whether a type is collections.OrderedDict or derived from it.
func isOrdered(all *types, t *typ) bool {
	for n := 0; t != nil && n < maxBases && t.name != "dict"; n++ {
		if t.name == "collections.OrderedDict" {
			return true
		}
		if t.up == t.addr {
			break
		}
		t = all.typeAt(t.up)
	}
	return false
}

// followKeys follows the keys of an OrderedDict once more: the list that has their order refers to each as well
// (Objects/odictobject.c, _odictnode.key).
func (v visits) followKeys(n int32, addr uint64) {
	v.entries(addr, func(key, _ uint64) bool {
		v.follow(n, key, label{labelElement, 0})
		return !v.done()
	})
}

func (v visits) visitItems(n int32, items, count uint64, kind labelKind) {
	v.mem.words(items, min(count, maxEntries), func(i, item uint64) bool {
		v.follow(n, item, label{kind, i})
		return !v.done()
	})
}

// visitSet looks at a table of keys and hashes. A place that was deleted refers to an object without references.
func (v visits) visitSet(n int32, addr uint64) {
	table, mask := v.mem.word(addr+cpython.SetTable), v.mem.word(addr+cpython.SetMask)
	v.mem.words(table, 2*min(mask, maxEntries)+2, func(i, word uint64) bool {
		if i&1 == 0 && word != 0 {
			v.follow(n, word, label{labelElement, 0})
		}
		return !v.done()
	})
}

// visitDeque walks the blocks: Modules/_collectionsmodule.c, 3.9 to 3.15: leftblock, rightblock, leftindex, rightindex
// behind the size; a block is left, 64 items, right.
func (v visits) visitDeque(n int32, addr uint64) {
	const items = 64
	left, right := v.mem.word(addr+24), v.mem.word(addr+32)
	first, last := v.mem.word(addr+40), v.mem.word(addr+48)
	seen := map[uint64]bool{}
	for index := uint64(0); left != 0 && !seen[left] && !v.done(); {
		seen[left] = true
		end := uint64(items - 1)
		if left == right {
			end = min(last, items-1)
		}
		if first > end {
			return
		}
		v.mem.words(left+8+8*first, end-first+1, func(_, item uint64) bool {
			v.follow(n, item, label{labelIndex, index})
			index++
			return !v.done()
		})
		if left == right {
			return
		}
		left, first = v.mem.word(left+8+8*items), 0
	}
}

// visitType follows a class's attributes and bases.
func (v visits) visitType(n int32, addr uint64) {
	dict := v.mem.word(addr + cpython.TypeDict)
	if t := v.objectType(dict); t != nil && t.shape == shapeDict {
		v.namespaceOf(n, dict)
	}
	v.follow(n, v.mem.word(addr+cpython.TypeBases), named(fixedBases))
	// tp_mro: a class in a cycle holds itself there
	for _, itself := range []uint64{cpython.TypeBases + 8, cpython.TypeBase} {
		v.refer(n, v.mem.word(addr+itself), stepCounting, named(fixedBases))
	}
}

// namespaceOf follows the attributes in a dict that a node looks into itself.
func (v visits) namespaceOf(n int32, dict uint64) {
	v.once(v.part(n, dict), func() {
		v.entries(dict, func(key, value uint64) bool {
			v.follow(n, value, label{labelName, key})
			return !v.done()
		})
	})
}

// visitModule follows a module's attributes, and the state of one made in C: PyModuleObject.md_dict, md_def, md_state
// (Objects/moduleobject.c); PyModuleDef.m_size is at 56.
func (v visits) visitModule(n int32, addr uint64) {
	dict := v.mem.word(addr + uint64(v.heap.ModuleDict))
	if t := v.objectType(dict); t != nil && t.shape == shapeDict {
		v.namespaceOf(n, dict)
	}
	v.moduleState(n, addr)
}

// moduleState looks into the memory that a module made in C has of its own.
func (v visits) moduleState(n int32, addr uint64) {
	const def, state, size = 24, 32, 56
	at := v.mem.word(addr + state)
	if at == 0 {
		return
	}
	v.note(stepState)
	if bytes := v.mem.word(v.mem.word(addr+def) + size); bytes <= maxBasic {
		v.mem.words(at, bytes/8, func(i, word uint64) bool {
			v.looseWord(n, word, label{labelWord, 8 * i})
			return !v.done()
		})
	}
}

// attributes follows the values of an instance's own namespace. It returns the dict of that, if it has become one.
// References in a dict that was reached before have been counted.
func (v visits) attributes(obj uint64, t *typ, yield func(key, value uint64) bool) (dict uint64) {
	dict, values := v.attributesAt(obj, t)
	if dict == 0 {
		if values != 0 {
			v.inlineAttributes(t, values, yield)
		}
		return 0
	}
	if !v.isShape(dict, shapeDict) {
		return 0
	}
	_, known := v.known(dict)
	before := v.uncounted
	v.uncounted = before || known
	if v.recorder != nil {
		v.recorder.begin()
	}
	v.entries(dict, yield)
	v.note(stepEnd)
	v.uncounted = before
	return dict
}

// visitRecords follows the references in an array's records.
func (v visits) visitRecords(n int32, addr, data uint64) {
	r := recordsOf(&v.sizer, addr)
	if len(r.fields) == 0 {
		return
	}
	for i := range (ndarray{v.mem, addr}).elements() {
		for _, field := range r.fields {
			v.follow(n, v.mem.word(data+i*r.size+field), label{labelElement, 0})
		}
		if v.done() {
			return
		}
	}
}

// visitElement follows the attributes and the children of an element.
func (v visits) visitElement(n int32, addr uint64) {
	for _, at := range []uint64{elementText, elementTail} {
		if word := v.mem.word(addr + at); word&1 != 0 {
			v.follow(n, word&^1, label{labelWord, at})
		}
	}
	extra := v.mem.word(addr + elementExtra)
	if extra < lowestAddress || extra&7 != 0 {
		return
	}
	v.follow(n, v.mem.word(extra+extraAttributes), label{})
	v.visitItems(n, v.mem.word(extra+extraChildren), min(v.mem.word(extra+extraLength), v.mem.word(extra+extraRoom)),
		labelIndex)
}

// visitArray looks into a NumPy array. PyArrayObject_fields (numpy/ndarraytypes.h, NumPy 1.7 to 2): data, nd,
// dimensions, strides, base, descr, flags, weakreflist; PyArray_Descr: typeobj, kind.
func (v visits) visitArray(n int32, addr uint64) {
	const data, base = 16, arrayBase
	at := v.mem.word(addr + data)
	if v.arrays != nil {
		v.arrays.array(n, addr, at)
	}
	v.hiding(v.objectType(addr), data, func() {
		v.follow(n, v.mem.word(addr+base), named(fixedBase))
		v.visitItems(n, at, ndarray{v.mem, addr}.objects(), labelFlat)
		v.visitRecords(n, addr, at)
	})
}
