package holders

import (
	"slices"

	"ipytracer/tracer/python/cpython"
)

// visit follows what a node refers to.
func (w *walker) visit(n int32) {
	switch {
	case w.replay(n):
	case w.survey != nil:
		w.survey.record(w, n, func() { w.lookInto(n) })
	default:
		w.lookInto(n)
	}
}

// lookInto reads the memory of a node.
func (w *walker) lookInto(n int32) {
	addr := w.addrs[n]
	if w.survey != nil && w.survey.isFrame[n] || w.survey == nil && w.nodes[n].what == isFrame {
		w.visitFrame(n, addr)
		return
	}
	t := w.objectType(addr)
	if t == nil {
		return // it has gone
	}
	switch t.shape {
	case shapeDict:
		w.visitDict(n, addr)
		if isOrdered(w, t) {
			followKeys(w, n, addr)
		}
	case shapeList:
		w.visitItems(n, w.mem.word(addr+uint64(w.heap.ListItems)), w.mem.word(addr+uint64(w.heap.ListSize)), labelIndex)
	case shapeTuple:
		w.visitItems(n, addr+uint64(w.heap.TupleItems), w.mem.word(addr+uint64(w.heap.VarSize)), labelIndex)
	case shapeSet:
		w.visitSet(n, addr)
	case shapeDeque:
		w.visitDeque(n, addr)
	case shapeType:
		w.visitType(n, addr)
		return
	case shapeModule:
		w.visitModule(n, addr)
		return
	case shapeFunction:
		w.visitFunction(n, addr)
	case shapeCell:
		w.follow(n, w.mem.word(addr+16), label{})
	case shapeFrame:
		w.visitFrameObject(n, addr)
	case shapeGenerator:
		w.visitGenerator(n, addr, t)
	case shapeTraceback:
		w.follow(n, w.mem.word(addr+cpython.TracebackFrame), named(fixedFrame))
		w.follow(n, w.mem.word(addr+cpython.TracebackNext), named(fixedNext))
	case shapeWeak:
		w.follow(n, w.mem.word(addr+cpython.WeakReferenceCallback), named(fixedCallback))
	case shapeArray:
		w.visitArray(n, addr)
	}
	w.visitInstance(n, addr, t)
}

// visitInstance follows attributes and slots, and whatever else an instance of a type made in C has.
func (w *walker) visitInstance(n int32, addr uint64, t *typ) {
	if t.shape != shapeDict || t.dict != 0 || t.flags&cpython.FlagManagedDict != 0 {
		dict := w.attributes(addr, t, func(key, value uint64) bool {
			w.follow(n, value, label{labelName, key})
			return !w.done()
		})
		if dict != 0 {
			w.part(n, dict)
		}
	}
	if end := min(t.basic, maxBasic); t.own < end {
		w.visitWords(n, addr, t, t.own, end)
	}
	if t.shape == shapeWords && t.item == 8 {
		count := min(w.mem.word(addr+uint64(w.heap.VarSize)), maxItems)
		take := w.word
		if t.loose > 0 {
			take = w.looseWord
		}
		w.mem.words(addr+t.basic, count, func(i, word uint64) bool {
			take(n, word, label{labelIndex, i})
			return !w.done()
		})
	}
	if t.native {
		w.visitNative(n, addr, min(t.basic, maxBasic))
	}
	w.extents.tensor(w, n, addr, t)
	visitArrow(w, n, addr, t)
	w.visitClass(n, t)
}

// visitClass has an instance hold its class, once everything else has been reached.
func (w *walker) visitClass(n int32, t *typ) {
	if t.flags&cpython.FlagHeapType == 0 {
		return
	}
	switch {
	case w.survey != nil:
		w.survey.take(w, t.addr, stepClass, 0)
	case w.counting != nil || !w.deferring:
		w.follow(n, t.addr, named(fixedClass))
	default:
		w.deferClass(n, t.addr)
	}
}

func (w *walker) deferClass(n int32, class uint64) {
	if !w.classed[class] {
		w.classed[class] = true
		w.defer_(n, class, named(fixedClass))
	}
}

// visitWords looks at the words of an instance from one offset to another.
func (w *walker) visitWords(n int32, addr uint64, t *typ, from, to uint64) {
	from = (from + 7) &^ 7
	if to <= from {
		return
	}
	if t.name == memoryView { // its Py_buffer has the exporter, too, and does not count for it
		w.word(n, w.mem.word(addr+memoryBuffer), label{labelWord, memoryBuffer})
		return
	}
	w.mem.words(addr+from, (to-from)/8, func(i, word uint64) bool {
		at := from + 8*i
		switch {
		case at == t.weak && at != 0, t.dict > 0 && at == uint64(t.dict):
		case t.shape == shapeWeak && at < 64: // the list of all weak references to the same object
		case at < t.loose && !w.isSlot(t, at):
			w.looseWord(n, word, label{labelWord, at})
		default:
			w.word(n, word, label{labelWord, at})
		}
		return !w.done()
	})
}

// word takes a word of an object whose layout is known: a reference, the address of a block, or a number.
func (w *walker) word(n int32, word uint64, l label) {
	switch {
	case word < lowestAddress:
	case w.survey != nil && word&7 == 0:
		w.survey.take(w, word, stepWord, aheadGuess)
	case w.survey != nil:
		if w.survey.recording && word < userSpace {
			w.survey.raw(word)
		}
	case !w.pointsAt(n, word, false):
		w.guess(n, word, l)
	}
}

// looseWord takes a word of something whose layout is not known; n is -1 for no object.
func (w *walker) looseWord(n int32, word uint64, l label) {
	if word < lowestAddress || n >= 0 && w.mayPointAt(n, word) {
		return
	}
	w.followBelieved(n, word, l, true)
}

func (w *walker) visitDict(n int32, addr uint64) {
	w.entries(addr, func(key, value uint64) bool {
		w.follow(n, value, label{labelKey, key})
		if w.survey != nil {
			w.survey.take(w, key, stepKey, 0)
			return !w.done()
		}
		if t := w.objectType(key); t != nil && t.shape != shapeLeaf {
			w.keys = append(w.keys, edge{to: key, label: label{labelElement, 0}, parent: n})
		} else if t != nil && w.extents != nil {
			w.follow(n, key, label{})
		}
		return !w.done()
	})
}

// isOrdered says whether a type is collections.OrderedDict or derived from it.
func isOrdered(w *walker, t *typ) bool {
	for n := 0; t != nil && n < maxBases && t.name != "dict"; n++ {
		if t.name == "collections.OrderedDict" {
			return true
		}
		if t.up == t.addr {
			break
		}
		t = w.typeAt(t.up)
	}
	return false
}

// followKeys follows the keys of an OrderedDict once more: the list that has their order refers to each as well (Objects/odictobject.c, _odictnode.key).
func followKeys(w *walker, n int32, addr uint64) {
	w.entries(addr, func(key, _ uint64) bool {
		w.follow(n, key, label{labelElement, 0})
		return !w.done()
	})
}

func (w *walker) visitItems(n int32, items, count uint64, kind labelKind) {
	w.mem.words(items, min(count, maxEntries), func(i, item uint64) bool {
		w.follow(n, item, label{kind, i})
		return !w.done()
	})
}

// visitSet looks at a table of keys and hashes. A place that was deleted refers to an object without references.
func (w *walker) visitSet(n int32, addr uint64) {
	table, mask := w.mem.word(addr+cpython.SetTable), w.mem.word(addr+cpython.SetMask)
	w.mem.words(table, 2*min(mask, maxEntries)+2, func(i, word uint64) bool {
		if i&1 == 0 && word != 0 {
			w.follow(n, word, label{labelElement, 0})
		}
		return !w.done()
	})
}

// visitDeque walks the blocks: Modules/_collectionsmodule.c, 3.9 to 3.15: leftblock, rightblock, leftindex, rightindex
// behind the size; a block is left, 64 items, right.
func (w *walker) visitDeque(n int32, addr uint64) {
	const items = 64
	left, right := w.mem.word(addr+24), w.mem.word(addr+32)
	first, last := w.mem.word(addr+40), w.mem.word(addr+48)
	seen := map[uint64]bool{}
	for index := uint64(0); left != 0 && !seen[left] && !w.done(); {
		seen[left] = true
		end := uint64(items - 1)
		if left == right {
			end = min(last, items-1)
		}
		if first > end {
			return
		}
		w.mem.words(left+8+8*first, end-first+1, func(_, item uint64) bool {
			w.follow(n, item, label{labelIndex, index})
			index++
			return !w.done()
		})
		if left == right {
			return
		}
		left, first = w.mem.word(left+8+8*items), 0
	}
}

// visitType follows a class's attributes and bases.
func (w *walker) visitType(n int32, addr uint64) {
	dict := w.mem.word(addr + cpython.TypeDict)
	if t := w.objectType(dict); t != nil && t.shape == shapeDict {
		w.namespaceOf(n, dict)
	}
	w.follow(n, w.mem.word(addr+cpython.TypeBases), named(fixedBases))
	for _, itself := range []uint64{cpython.TypeBases + 8, cpython.TypeBase} { // tp_mro: what a class in a cycle holds of itself
		if to := w.mem.word(addr + itself); w.survey != nil {
			w.survey.take(w, to, stepCounting, 0)
		} else if w.counting != nil {
			w.follow(n, to, named(fixedBases))
		}
	}
}

// namespaceOf follows the attributes in a dict that a node looks into itself.
func (w *walker) namespaceOf(n int32, dict uint64) {
	w.once(w.part(n, dict), func() {
		w.entries(dict, func(key, value uint64) bool {
			w.follow(n, value, label{labelName, key})
			return !w.done()
		})
	})
}

// visitModule follows a module's attributes, and the state of one made in C: PyModuleObject.md_dict, md_def, md_state
// (Objects/moduleobject.c); PyModuleDef.m_size is at 56.
func (w *walker) visitModule(n int32, addr uint64) {
	dict := w.mem.word(addr + uint64(w.heap.ModuleDict))
	if t := w.objectType(dict); t != nil && t.shape == shapeDict {
		w.namespaceOf(n, dict)
	}
	w.moduleState(n, addr)
}

// moduleState looks into what a module made in C has of its own.
func (w *walker) moduleState(n int32, addr uint64) {
	const def, state, size = 24, 32, 56
	at := w.mem.word(addr + state)
	if at == 0 {
		return
	}
	w.survey.step(stepState)
	if bytes := w.mem.word(w.mem.word(addr+def) + size); bytes <= maxBasic {
		w.mem.words(at, bytes/8, func(i, word uint64) bool {
			w.looseWord(n, word, label{labelWord, 8 * i})
			return !w.done()
		})
	}
}

// isShape says whether an object is of a shape.
func (w *walker) isShape(addr uint64, all ...shape) bool {
	t := w.objectType(addr)
	return t != nil && slices.Contains(all, t.shape)
}
