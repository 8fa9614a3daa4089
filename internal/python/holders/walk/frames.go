package walk

import (
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/objects"
)

// maxStack is the largest number of values on the evaluation stack of a frame.
const maxStack = 1 << 12

// visitFrameObject looks into a PyFrameObject. From 3.11 on it refers to an interpreter frame, its own or a running
// one.
func (v Visits) visitFrameObject(n int32, addr uint64) {
	if v.Heap.FrameHolds == 0 {
		v.Follow(n, v.Mem.Word(addr+uint64(v.Heap.FrameBack)), fixedLabel(fixedBack))
		v.visitFrame(n, addr)
		return
	}
	v.Follow(n, v.Mem.Word(addr+cpython.FrameObjectBack), fixedLabel(fixedBack))
	inner := v.Mem.Word(addr + uint64(v.Heap.FrameHolds))
	v.Mem.Words(addr+32, 5, func(_, word uint64) bool { // f_trace, and the dict that locals() has made, from 3.13 on
		v.Word(n, word, fixedLabel(fixedTrace))
		return true
	})
	v.visitFrame(n, inner)
}

// visitFrame follows the references of a frame: its variables, the values on its evaluation stack, its function.
func (v Visits) visitFrame(n int32, addr uint64) {
	h := &v.Heap
	code := v.Mem.Word(addr+uint64(h.FrameCode)) & h.CodeMask
	if t := v.ObjectType(code); t == nil || t.Name != "code" {
		return
	}
	v.Frames[n] = Frame{code, v.Instruction(addr, code)}
	if v.metFrames[addr] {
		return // a frame object and a frame that runs can be the same frame
	}
	if v.metFrames != nil {
		v.metFrames[addr] = true
	}
	names := v.LocalNames(code)
	locals := addr + uint64(h.FrameLocals)
	v.Mem.Words(locals, uint64(len(names)), func(i, word uint64) bool {
		v.stackReference(n, word, Label{LabelLocal, names[i]}) // of a cell, too: its content has no label of its own
		return !v.Done()
	})
	if mapping := v.Mem.Word(addr + uint64(h.FrameMapping)); mapping != 0 { // a class body, exec, or globals
		if !v.Spaces[mapping] && v.IsShape(mapping, objects.ShapeDict) {
			v.countIfNew(v.Part(n, mapping), func() {
				v.Entries(mapping, func(key, value uint64) bool {
					v.Follow(n, value, Label{LabelLocal, key})
					return !v.Done()
				})
			})
		}
	}
	if h.FrameFunction != 0 {
		v.Follow(n, v.Mem.Word(addr+uint64(h.FrameFunction))&^7, fixedLabel(fixedFunction))
	}
	v.visitStack(n, addr, locals+8*uint64(len(names)))
}

// visitStack follows the values on the evaluation stack of a frame, which begins at first. For a frame that executes
// their number is not known: its values are looked at last of all, see [Walker.visitTemporaries].
func (v Visits) visitStack(n int32, addr, first uint64) {
	h := &v.Heap
	count, known := uint64(0), false
	at := v.Mem.Word(addr + uint64(h.FrameStack))
	switch h.StackKind {
	case cpython.StackTop:
		known = at >= first
		count = (at - first) / 8
	case cpython.StackPointer:
		known = at >= first && (at-first)/8 <= maxStack
		count = (at - first) / 8
	case cpython.StackDepth:
		known = int32(at) >= 0
		count = uint64(uint32(at))
	case cpython.StackIndex:
		locals := (first - addr - uint64(h.FrameLocals)) / 8
		known = int32(at) >= 0 && uint64(uint32(at)) >= locals
		count = uint64(uint32(at)) - locals
	}
	if !known {
		v.temporaries = append(v.temporaries, temporary{n, first})
		return
	}
	v.Mem.Words(first, min(count, maxStack), func(_, word uint64) bool {
		v.stackReference(n, word, Label{Kind: LabelTemporary})
		return !v.Done()
	})
}

// stackReference follows a reference of a frame. From 3.14 on its lowest bit is set if it is not in the object's
// reference count, because another reference holds the object (Py_TAG_REFCNT in Include/internal/pycore_stackref.h).
func (v Visits) stackReference(n int32, word uint64, l Label) {
	v.countIfNew(word&1 == 0, func() { v.Follow(n, word&^7, l) })
}

// visitGenerator looks into a generator or coroutine that has not finished: its frame, and the words in front of that.
func (v Visits) visitGenerator(n int32, addr uint64, t *objects.Type) {
	h := &v.Heap
	if h.GenFrame == 0 {
		v.Follow(n, v.Mem.Word(addr+uint64(h.GenFramePtr)), fixedLabel(fixedGenerator))
		return
	}
	if state := v.Mem.Bytes(addr+uint64(h.GenState), 1); state == nil ||
		h.Phase(int8(state[0])) == cpython.GenFinished {
		return
	}
	v.visitFrame(n, addr+uint64(h.GenFrame))
	v.visitWords(n, addr, t, 16, uint64(h.GenFrame)) // such as the exception that it handles
}

// visitFunction follows the references of a function: closure, defaults, globals and annotations.
func (v Visits) visitFunction(n int32, addr uint64) {
	h := &v.Heap
	v.visitClosure(n, addr)
	v.Follow(n, v.Mem.Word(addr+uint64(h.FuncDefaults)), fixedLabel(fixedDefaults))
	v.Follow(n, v.Mem.Word(addr+uint64(h.FuncKwDefaults)), fixedLabel(fixedKwDefaults))
	v.Refer(n, v.Mem.Word(addr+uint64(h.FuncGlobals)), objects.StepGlobals, fixedLabel(fixedGlobals))
	// __annotations__, and from 3.14 on __annotate__
	v.visitWords(n, addr, &objects.Type{}, uint64(h.FuncModule)+8, uint64(h.FuncModule)+24)
}

// visitClosure follows the cells of a closure under the names of its free variables.
func (v Visits) visitClosure(n int32, addr uint64) {
	closure := v.Mem.Word(addr + uint64(v.Heap.FuncClosure))
	if closure == 0 || !v.IsShape(closure, objects.ShapeTuple) {
		return
	}
	names := v.FreeNames(v.Mem.Word(addr + uint64(v.Heap.FuncCode)))
	isNew := v.Part(n, closure)
	for i, cell := range v.Tuple(closure, objects.MaxLocals) {
		l := Label{LabelIndex, uint64(i)}
		if i < len(names) {
			l = Label{LabelClosure, names[i]}
		}
		v.countIfNew(isNew, func() { v.Follow(n, cell, l) })
	}
}
