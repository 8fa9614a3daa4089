package holders

import (
	"ipytracer/internal/python/cpython"
)

// frame has the known parts of a node that is a frame: its code, and the instruction it is at.
type frame struct {
	code uint64
	at   int64 // as cpython.Line wants it
}

const (
	maxFrames = 1 << 16 // of all threads
	maxStack  = 1 << 12 // values on the evaluation stack of a frame
)

// frames are the frames that a walk has met.
type frames struct {
	*walker
	at          map[int32]frame // by node
	temporaries []temporary
	met         map[uint64]bool // frames that were looked into, where each is looked into once; nil for where not
}

// visitFrameObject looks into a PyFrameObject. From 3.11 on it refers to an interpreter frame, its own or a running
// one.
func (f *frames) visitFrameObject(n int32, addr uint64) {
	if f.heap.FrameHolds == 0 {
		f.follow(n, f.mem.word(addr+uint64(f.heap.FrameBack)), named(fixedBack))
		f.visitFrame(n, addr)
		return
	}
	f.follow(n, f.mem.word(addr+cpython.FrameObjectBack), named(fixedBack))
	inner := f.mem.word(addr + uint64(f.heap.FrameHolds))
	f.mem.words(addr+32, 5, func(_, word uint64) bool { // f_trace, and the dict that locals() has made, from 3.13 on
		visits{f.walker}.word(n, word, named(fixedTrace))
		return true
	})
	f.visitFrame(n, inner)
}

// visitFrame follows the references of a frame: its variables, the values on its evaluation stack, its function.
func (f *frames) visitFrame(n int32, addr uint64) {
	h := &f.heap
	code := f.mem.word(addr+uint64(h.FrameCode)) & h.CodeMask
	if t := f.objectType(code); t == nil || t.name != "code" {
		return
	}
	f.at[n] = frame{code, f.instruction(addr, code)}
	if f.met[addr] {
		return // a frame object and the frame that runs are the same
	}
	if f.met != nil {
		f.met[addr] = true
	}
	names := f.localNames(code)
	locals := addr + uint64(h.FrameLocals)
	f.mem.words(locals, uint64(len(names)), func(i, word uint64) bool {
		f.stackReference(n, word, label{labelLocal, names[i]}) // of a cell the content has no label of its own
		return !f.done()
	})
	if mapping := f.mem.word(addr + uint64(h.FrameMapping)); mapping != 0 { // a class body, exec, or globals
		if !f.spaces[mapping] && f.isShape(mapping, shapeDict) {
			f.once(f.part(n, mapping), func() {
				f.entries(mapping, func(key, value uint64) bool {
					f.follow(n, value, label{labelLocal, key})
					return !f.done()
				})
			})
		}
	}
	if h.FrameFunction != 0 {
		f.follow(n, f.mem.word(addr+uint64(h.FrameFunction))&^7, named(fixedFunction))
	}
	f.visitStack(n, addr, locals+8*uint64(len(names)))
}

// visitStack follows the values on the evaluation stack of a frame as far as their number is known. Those of a frame
// that executes may have been taken off again; they are looked at last of all.
func (f *frames) visitStack(n int32, addr, first uint64) {
	h := &f.heap
	count, known := uint64(0), false
	at := f.mem.word(addr + uint64(h.FrameStack))
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
	f.mem.words(first, min(count, maxStack), func(_, word uint64) bool {
		f.stackReference(n, word, label{kind: labelTemporary})
		return !f.done()
	})
}

// stackReference follows a reference that a frame has. From 3.14 on its lowest bit is set where it does not count,
// because another reference holds the object (Py_TAG_REFCNT in Include/internal/pycore_stackref.h).
func (f *frames) stackReference(n int32, word uint64, l label) {
	f.once(word&1 == 0, func() { f.follow(n, word&^7, l) })
}

// temporary is an evaluation stack that may be in use only in part.
type temporary struct {
	node  int32
	first uint64
}

// visitTemporaries looks at the rest of evaluation stacks.
func (f *frames) visitTemporaries() {
	for _, t := range f.temporaries {
		code := f.at[t.node].code
		size := uint64(max(0, min(f.mem.int32(code+uint64(f.heap.CodeStackSize)), maxStack)))
		f.mem.words(t.first, size, func(_, word uint64) bool {
			f.beliefs.followBelieved(t.node, word&^7, label{kind: labelTemporary}, false)
			return !f.done()
		})
		f.run()
	}
	f.temporaries = nil
}

// visitGenerator looks into a generator or coroutine: its frame, unless it is over, and the words behind that.
func (f *frames) visitGenerator(n int32, addr uint64, t *typ) {
	h := &f.heap
	if h.GenFrame == 0 {
		f.follow(n, f.mem.word(addr+uint64(h.GenFramePtr)), named(fixedGenerator))
		return
	}
	if state := f.mem.bytes(addr+uint64(h.GenState), 1); state == nil ||
		h.Phase(int8(state[0])) == cpython.GenFinished {
		return
	}
	f.visitFrame(n, addr+uint64(h.GenFrame))
	visits{f.walker}.visitWords(n, addr, t, 16, uint64(h.GenFrame)) // the exception it handles, where it was made
}

// visitFunction follows the references of a function: defaults, closure, attributes. Its globals lead out.
func (f *frames) visitFunction(n int32, addr uint64) {
	h := &f.heap
	f.visitClosure(n, addr)
	f.follow(n, f.mem.word(addr+uint64(h.FuncDefaults)), named(fixedDefaults))
	f.follow(n, f.mem.word(addr+uint64(h.FuncKwDefaults)), named(fixedKwDefaults))
	f.refer(n, f.mem.word(addr+uint64(h.FuncGlobals)), stepGlobals, named(fixedGlobals))
	// annotations, and how to make them
	visits{f.walker}.visitWords(n, addr, &typ{}, uint64(h.FuncModule)+8, uint64(h.FuncModule)+24)
}

// visitClosure follows the cells of a closure under the names of its free variables.
func (f *frames) visitClosure(n int32, addr uint64) {
	closure := f.mem.word(addr + uint64(f.heap.FuncClosure))
	if closure == 0 || !f.isShape(closure, shapeTuple) {
		return
	}
	names := f.freeNames(f.mem.word(addr + uint64(f.heap.FuncCode)))
	isNew := f.part(n, closure)
	for i, cell := range f.tuple(closure, maxLocals) {
		l := label{labelIndex, uint64(i)}
		if i < len(names) {
			l = label{labelClosure, names[i]}
		}
		f.once(isNew, func() { f.follow(n, cell, l) })
	}
}
