package walk

import (
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/objects"
)

// isFrameNode reports whether a node is an interpreter's frame. A census has no Nodes, and knows this itself.
func (w *Walker) isFrameNode(n int32) bool {
	if w.recorder != nil {
		return w.recorder.isFrameNode(n)
	}
	return w.Nodes[n].What == NodeFrame
}

// lookInto follows the references of a node, by reading its memory.
func (v Visits) lookInto(n int32) {
	addr := v.Addrs[n]
	if v.isFrameNode(n) {
		v.visitFrame(n, addr)
		return
	}
	t := v.ObjectType(addr)
	if t == nil {
		return // it has gone
	}
	switch t.Shape {
	case objects.ShapeDict:
		v.visitDict(n, addr)
		if isOrdered(v.Types, t) {
			v.followKeys(n, addr)
		}
	case objects.ShapeList:
		v.visitItems(n, v.Mem.Word(addr+uint64(v.Heap.ListItems)), v.Mem.Word(addr+uint64(v.Heap.ListSize)), LabelIndex)
	case objects.ShapeTuple:
		v.visitItems(n, addr+uint64(v.Heap.TupleItems), v.Mem.Word(addr+uint64(v.Heap.VarSize)), LabelIndex)
	case objects.ShapeSet:
		v.visitSet(n, addr)
	case objects.ShapeDeque:
		v.visitDeque(n, addr)
	case objects.ShapeType:
		v.visitType(n, addr)
		return
	case objects.ShapeModule:
		v.visitModule(n, addr)
		return
	case objects.ShapeFunction:
		v.visitFunction(n, addr)
	case objects.ShapeCell:
		v.Follow(n, v.Mem.Word(addr+16), Label{})
	case objects.ShapeFrame:
		v.visitFrameObject(n, addr)
	case objects.ShapeGenerator:
		v.visitGenerator(n, addr, t)
	case objects.ShapeTraceback:
		v.Follow(n, v.Mem.Word(addr+cpython.TracebackFrame), fixedLabel(fixedFrame))
		v.Follow(n, v.Mem.Word(addr+cpython.TracebackNext), fixedLabel(fixedNext))
	case objects.ShapeWeak:
		v.Follow(n, v.Mem.Word(addr+cpython.WeakReferenceCallback), fixedLabel(fixedCallback))
	case objects.ShapeArray:
		v.visitArray(n, addr)
	}
	v.visitInstance(n, addr, t)
}

// visitInstance follows attributes and slots, and whatever else an instance of a type made in C has.
func (v Visits) visitInstance(n int32, addr uint64, t *objects.Type) {
	if t.Shape != objects.ShapeDict || t.Dict != 0 || t.Flags&cpython.FlagManagedDict != 0 {
		dict := v.Attributes(addr, t, func(key, value uint64) bool {
			v.Follow(n, value, Label{LabelName, key})
			return !v.Done()
		})
		if dict != 0 {
			v.Part(n, dict)
		}
	}
	if end := min(t.Basic, objects.MaxBasic); t.FirstWord < end {
		v.visitWords(n, addr, t, t.FirstWord, end)
	}
	if t.Shape == objects.ShapeWords && t.Item == 8 {
		count := min(v.Mem.Word(addr+uint64(v.Heap.VarSize)), objects.MaxItems)
		followWord := v.Word
		if t.UnknownBefore > 0 {
			followWord = v.looseWord
		}
		v.Mem.Words(addr+t.Basic, count, func(i, word uint64) bool {
			followWord(n, word, Label{LabelIndex, i})
			return !v.Done()
		})
	}
	if t.Name == objects.Element {
		v.visitElement(n, addr)
	}
	if t.Native {
		v.visitNative(n, addr, min(t.Basic, objects.MaxBasic))
	}
	if v.libraries != nil {
		v.libraries.Library(n, addr, t)
	}
	v.visitClass(n, t)
}

// visitClass follows the reference of an instance to its class. Only classes made at run time are counted by instances.
func (v Visits) visitClass(n int32, t *objects.Type) {
	if t.Flags&cpython.FlagHeapType != 0 {
		v.Refer(n, t.Addr, objects.StepClass, fixedLabel(fixedClass))
	}
}

// isOrdered reports whether a type is collections.OrderedDict or derived from it.
func isOrdered(types *objects.Types, t *objects.Type) bool {
	for base := range types.Bases(t) {
		switch base.Name {
		case "collections.OrderedDict":
			return true
		case "dict":
			return false
		}
	}
	return false
}

// followKeys follows the keys of an OrderedDict once more: the list that has their order refers to each as well
// (Objects/odictobject.c, _odictnode.key).
func (v Visits) followKeys(n int32, addr uint64) {
	v.Entries(addr, func(key, _ uint64) bool {
		v.Follow(n, key, Label{LabelElement, 0})
		return !v.Done()
	})
}

// visitDeque follows the items of a deque, block by block. Behind the size are leftblock, rightblock, leftindex and
// rightindex. A block has a link to the left, 64 items, and a link to the right (Modules/_collectionsmodule.c, 3.9 to
// 3.15).
func (v Visits) visitDeque(n int32, addr uint64) {
	const items = 64
	left, right := v.Mem.Word(addr+24), v.Mem.Word(addr+32)
	first, last := v.Mem.Word(addr+40), v.Mem.Word(addr+48)
	seen := map[uint64]bool{}
	for index := uint64(0); left != 0 && !seen[left] && !v.Done(); {
		seen[left] = true
		end := uint64(items - 1)
		if left == right {
			end = min(last, items-1)
		}
		if first > end {
			return
		}
		v.Mem.Words(left+8+8*first, end-first+1, func(_, item uint64) bool {
			v.Follow(n, item, Label{LabelIndex, index})
			index++
			return !v.Done()
		})
		if left == right {
			return
		}
		left, first = v.Mem.Word(left+8+8*items), 0
	}
}

// visitType follows a class's attributes and bases.
func (v Visits) visitType(n int32, addr uint64) {
	dict := v.Mem.Word(addr + cpython.TypeDict)
	if t := v.ObjectType(dict); t != nil && t.Shape == objects.ShapeDict {
		v.namespaceOf(n, dict)
	}
	v.Follow(n, v.Mem.Word(addr+cpython.TypeBases), fixedLabel(fixedBases))
	const mro = cpython.TypeBases + 8 // tp_mro: a tuple in which a class holds itself
	for _, at := range []uint64{mro, cpython.TypeBase} {
		v.Refer(n, v.Mem.Word(addr+at), objects.StepCounting, fixedLabel(fixedBases))
	}
}

// namespaceOf follows the attributes in a dict that is a part of a node.
func (v Visits) namespaceOf(n int32, dict uint64) {
	v.countIfNew(v.Part(n, dict), func() {
		v.Entries(dict, func(key, value uint64) bool {
			v.Follow(n, value, Label{LabelName, key})
			return !v.Done()
		})
	})
}

// visitModule follows a module's attributes, and the state of a module made in C.
func (v Visits) visitModule(n int32, addr uint64) {
	dict := v.Mem.Word(addr + uint64(v.Heap.ModuleDict))
	if t := v.ObjectType(dict); t != nil && t.Shape == objects.ShapeDict {
		v.namespaceOf(n, dict)
	}
	v.moduleState(n, addr)
}

// moduleState follows the words of the memory that a module made in C has of its own: PyModuleObject.md_def and
// md_state (Objects/moduleobject.c), PyModuleDef.m_size.
func (v Visits) moduleState(n int32, addr uint64) {
	const def, state, size = 24, 32, 56
	at := v.Mem.Word(addr + state)
	if at == 0 {
		return
	}
	v.noteStep(objects.StepState)
	if bytes := v.Mem.Word(v.Mem.Word(addr+def) + size); bytes <= objects.MaxBasic {
		v.Mem.Words(at, bytes/8, func(i, word uint64) bool {
			v.looseWord(n, word, Label{LabelWord, 8 * i})
			return !v.Done()
		})
	}
}

// Attributes calls yield with the attributes in an instance's own namespace, and returns the namespace's dict, 0 for
// none. If the dict was reached before, its references have been counted.
func (v Visits) Attributes(obj uint64, t *objects.Type, yield func(key, value uint64) bool) (dict uint64) {
	dict, values := v.AttributesAt(obj, t)
	if dict == 0 {
		if values != 0 {
			v.InlineAttributes(t, values, yield)
		}
		return 0
	}
	if !v.IsShape(dict, objects.ShapeDict) {
		return 0
	}
	_, known := v.Known(dict)
	before := v.Uncounted
	v.Uncounted = before || known
	if v.recorder != nil {
		v.recorder.beginPart()
	}
	v.Entries(dict, yield)
	v.noteStep(objects.StepEnd)
	v.Uncounted = before
	return dict
}
