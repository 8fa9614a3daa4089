package walk

import (
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/objects"
)

// Frame has the known parts of a node that is a frame: its code, and the instruction it is at.
type Frame struct {
	Code uint64
	At   int64 // as cpython.Line wants it
}

const (
	maxFrames = 1 << 16 // of all threads
	maxStack  = 1 << 12 // values on the evaluation stack of a frame
)

// frames are the frames that a walk has met.
type frames struct {
	*Walker
	At          map[int32]Frame // by node
	temporaries []temporary
	met         map[uint64]bool // frames that were looked into, where each is looked into once; nil for where not
}

// visitFrameObject looks into a PyFrameObject. From 3.11 on it refers to an interpreter frame, its own or a running
// one.
func (f *frames) visitFrameObject(n int32, addr uint64) {
	if f.Heap.FrameHolds == 0 {
		f.Follow(n, f.Mem.Word(addr+uint64(f.Heap.FrameBack)), named(fixedBack))
		f.visitFrame(n, addr)
		return
	}
	f.Follow(n, f.Mem.Word(addr+cpython.FrameObjectBack), named(fixedBack))
	inner := f.Mem.Word(addr + uint64(f.Heap.FrameHolds))
	f.Mem.Words(addr+32, 5, func(_, word uint64) bool { // f_trace, and the dict that locals() has made, from 3.13 on
		Visits{f.Walker}.Word(n, word, named(fixedTrace))
		return true
	})
	f.visitFrame(n, inner)
}

// visitFrame follows the references of a frame: its variables, the values on its evaluation stack, its function.
func (f *frames) visitFrame(n int32, addr uint64) {
	h := &f.Heap
	code := f.Mem.Word(addr+uint64(h.FrameCode)) & h.CodeMask
	if t := f.ObjectType(code); t == nil || t.Name != "code" {
		return
	}
	f.At[n] = Frame{code, f.Instruction(addr, code)}
	if f.met[addr] {
		return // a frame object and the frame that runs are the same
	}
	if f.met != nil {
		f.met[addr] = true
	}
	names := f.LocalNames(code)
	locals := addr + uint64(h.FrameLocals)
	f.Mem.Words(locals, uint64(len(names)), func(i, word uint64) bool {
		f.stackReference(n, word, Label{LabelLocal, names[i]}) // of a cell the content has no label of its own
		return !f.Done()
	})
	if mapping := f.Mem.Word(addr + uint64(h.FrameMapping)); mapping != 0 { // a class body, exec, or globals
		if !f.Spaces[mapping] && f.IsShape(mapping, objects.ShapeDict) {
			f.once(f.Part(n, mapping), func() {
				f.Entries(mapping, func(key, value uint64) bool {
					f.Follow(n, value, Label{LabelLocal, key})
					return !f.Done()
				})
			})
		}
	}
	if h.FrameFunction != 0 {
		f.Follow(n, f.Mem.Word(addr+uint64(h.FrameFunction))&^7, named(fixedFunction))
	}
	f.visitStack(n, addr, locals+8*uint64(len(names)))
}

// visitStack follows the values on the evaluation stack of a frame as far as their number is known. Those of a frame
// that executes may have been taken off again; they are looked at last of all.
func (f *frames) visitStack(n int32, addr, first uint64) {
	h := &f.Heap
	count, known := uint64(0), false
	at := f.Mem.Word(addr + uint64(h.FrameStack))
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
		f.temporaries = append(f.temporaries, temporary{n, first})
		return
	}
	f.Mem.Words(first, min(count, maxStack), func(_, word uint64) bool {
		f.stackReference(n, word, Label{Kind: LabelTemporary})
		return !f.Done()
	})
}

// stackReference follows a reference that a frame has. From 3.14 on its lowest bit is set where it does not count,
// because another reference holds the object (Py_TAG_REFCNT in Include/internal/pycore_stackref.h).
func (f *frames) stackReference(n int32, word uint64, l Label) {
	f.once(word&1 == 0, func() { f.Follow(n, word&^7, l) })
}

// temporary is an evaluation stack that may be in use only in part.
type temporary struct {
	node  int32
	first uint64
}

// visitTemporaries looks at the rest of evaluation stacks.
func (f *frames) visitTemporaries() {
	for _, t := range f.temporaries {
		code := f.At[t.node].Code
		size := uint64(max(0, min(f.Mem.Int32(code+uint64(f.Heap.CodeStackSize)), maxStack)))
		f.Mem.Words(t.first, size, func(_, word uint64) bool {
			f.Beliefs.followBelieved(t.node, word&^7, Label{Kind: LabelTemporary}, false)
			return !f.Done()
		})
		f.Run()
	}
	f.temporaries = nil
}

// visitGenerator looks into a generator or coroutine: its frame, unless it is over, and the words behind that.
func (f *frames) visitGenerator(n int32, addr uint64, t *objects.Type) {
	h := &f.Heap
	if h.GenFrame == 0 {
		f.Follow(n, f.Mem.Word(addr+uint64(h.GenFramePtr)), named(fixedGenerator))
		return
	}
	if state := f.Mem.Bytes(addr+uint64(h.GenState), 1); state == nil ||
		h.Phase(int8(state[0])) == cpython.GenFinished {
		return
	}
	f.visitFrame(n, addr+uint64(h.GenFrame))
	Visits{f.Walker}.visitWords(n, addr, t, 16, uint64(h.GenFrame)) // the exception it handles, where it was made
}

// visitFunction follows the references of a function: defaults, closure, attributes. Its globals lead out.
func (f *frames) visitFunction(n int32, addr uint64) {
	h := &f.Heap
	f.visitClosure(n, addr)
	f.Follow(n, f.Mem.Word(addr+uint64(h.FuncDefaults)), named(fixedDefaults))
	f.Follow(n, f.Mem.Word(addr+uint64(h.FuncKwDefaults)), named(fixedKwDefaults))
	f.Refer(n, f.Mem.Word(addr+uint64(h.FuncGlobals)), objects.StepGlobals, named(fixedGlobals))
	// annotations, and how to make them
	Visits{f.Walker}.visitWords(n, addr, &objects.Type{}, uint64(h.FuncModule)+8, uint64(h.FuncModule)+24)
}

// visitClosure follows the cells of a closure under the names of its free variables.
func (f *frames) visitClosure(n int32, addr uint64) {
	closure := f.Mem.Word(addr + uint64(f.Heap.FuncClosure))
	if closure == 0 || !f.IsShape(closure, objects.ShapeTuple) {
		return
	}
	names := f.FreeNames(f.Mem.Word(addr + uint64(f.Heap.FuncCode)))
	isNew := f.Part(n, closure)
	for i, cell := range f.Tuple(closure, objects.MaxLocals) {
		l := Label{LabelIndex, uint64(i)}
		if i < len(names) {
			l = Label{LabelClosure, names[i]}
		}
		f.once(isNew, func() { f.Follow(n, cell, l) })
	}
}
