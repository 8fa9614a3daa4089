package holders

import (
	"ipytracer/tracer/python/cpython"
)

// frame is what is known of a node that is a frame: its code, and the instruction it is at.
type frame struct {
	code uint64
	at   int64 // as cpython.Line wants it
}

const (
	maxFrames = 1 << 16 // of all threads
	maxLocals = 1 << 16 // of a frame
	maxStack  = 1 << 12 // values on the evaluation stack of a frame
)

// visitFrameObject looks into a PyFrameObject. From 3.11 on it refers to an interpreter frame, its own or a running one.
func (w *walker) visitFrameObject(n int32, addr uint64) {
	if w.heap.FrameHolds == 0 {
		w.follow(n, w.mem.word(addr+uint64(w.heap.FrameBack)), named(fixedBack))
		w.visitFrame(n, addr)
		return
	}
	w.follow(n, w.mem.word(addr+cpython.FrameObjectBack), named(fixedBack))
	inner := w.mem.word(addr + uint64(w.heap.FrameHolds))
	w.mem.words(addr+32, 5, func(_, word uint64) bool { // f_trace, and what locals() has made, from 3.13 on
		w.word(n, word, named(fixedTrace))
		return true
	})
	w.visitFrame(n, inner)
}

// visitFrame follows what a frame holds: its variables, the values on its evaluation stack, its function.
func (w *walker) visitFrame(n int32, addr uint64) {
	h := &w.heap
	code := w.mem.word(addr+uint64(h.FrameCode)) & h.CodeMask
	if t := w.objectType(code); t == nil || t.name != "code" {
		return
	}
	w.frames[n] = frame{code, w.instruction(addr, code)}
	if !w.survey.isNew(addr) {
		return // a frame object and the frame that runs are the same
	}
	names := w.localNames(code)
	locals := addr + uint64(h.FrameLocals)
	w.mem.words(locals, uint64(len(names)), func(i, word uint64) bool {
		w.stackReference(n, word, label{labelLocal, names[i]}) // of a cell the content has no label of its own
		return !w.done()
	})
	if mapping := w.mem.word(addr + uint64(h.FrameMapping)); mapping != 0 { // a class body, exec, or globals
		if !w.spaces[mapping] && w.isShape(mapping, shapeDict) {
			w.once(w.part(n, mapping), func() {
				w.entries(mapping, func(key, value uint64) bool {
					w.follow(n, value, label{labelLocal, key})
					return !w.done()
				})
			})
		}
	}
	if h.FrameFunction != 0 {
		w.follow(n, w.mem.word(addr+uint64(h.FrameFunction))&^7, named(fixedFunction))
	}
	w.visitStack(n, addr, locals+8*uint64(len(names)))
}

// visitStack follows the values on the evaluation stack of a frame as far as it is known how many they are. Those of a
// frame that executes may have been taken off again; they are looked at last of all.
func (w *walker) visitStack(n int32, addr, first uint64) {
	h := &w.heap
	count, known := uint64(0), false
	at := w.mem.word(addr + uint64(h.FrameStack))
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
		w.temporaries = append(w.temporaries, temporary{n, first})
		return
	}
	w.mem.words(first, min(count, maxStack), func(_, word uint64) bool {
		w.stackReference(n, word, label{kind: labelTemporary})
		return !w.done()
	})
}

// stackReference follows a reference that a frame has. From 3.14 on its lowest bit says that it does not count: somebody else
// holds the object (Py_TAG_REFCNT in Include/internal/pycore_stackref.h).
func (w *walker) stackReference(n int32, word uint64, l label) {
	w.once(word&1 == 0, func() { w.follow(n, word&^7, l) })
}

// temporary is an evaluation stack of which it is not known how much of it is in use.
type temporary struct {
	node  int32
	first uint64
}

// visitTemporaries looks at what was left on evaluation stacks.
func (w *walker) visitTemporaries() {
	for _, t := range w.temporaries {
		f := w.frames[t.node]
		size := uint64(max(0, min(w.mem.int32(f.code+uint64(w.heap.CodeStackSize)), maxStack)))
		w.mem.words(t.first, size, func(_, word uint64) bool {
			w.followBelieved(t.node, word&^7, label{kind: labelTemporary}, false)
			return !w.done()
		})
		w.run()
	}
	w.temporaries = nil
}

// localNames returns the addresses of the names of a code object's variables, cells and free variables included.
func (w *walker) localNames(code uint64) []uint64 {
	h := &w.heap
	if h.CodeCells == 0 {
		return w.tuple(w.mem.word(code+uint64(h.CodeLocalNames)), int(w.mem.int32(code+uint64(h.CodeLocals))))
	}
	names := w.tuple(w.mem.word(code+uint64(h.CodeLocalNames)), int(w.mem.int32(code+uint64(h.CodeLocals))))
	names = append(names, w.tuple(w.mem.word(code+uint64(h.CodeCells)), maxLocals)...)
	return append(names, w.tuple(w.mem.word(code+uint64(h.CodeFrees)), maxLocals)...)
}

// freeNames returns the addresses of the names of a code object's free variables.
func (w *walker) freeNames(code uint64) []uint64 {
	h := &w.heap
	if h.CodeCells != 0 {
		return w.tuple(w.mem.word(code+uint64(h.CodeFrees)), maxLocals)
	}
	all := w.localNames(code)
	n := min(int(max(0, w.mem.int32(code+uint64(h.CodeFree)))), len(all))
	return all[len(all)-n:]
}

// tuple returns at most limit items of a tuple.
func (w *walker) tuple(addr uint64, limit int) (items []uint64) {
	if !w.isShape(addr, shapeTuple) || limit <= 0 {
		return nil
	}
	n := min(w.mem.word(addr+uint64(w.heap.VarSize)), uint64(limit), maxLocals)
	w.mem.words(addr+uint64(w.heap.TupleItems), n, func(_, item uint64) bool {
		items = append(items, item)
		return true
	})
	return items
}

// instruction is where in its code a frame is, as cpython.Line wants it.
func (w *walker) instruction(addr, code uint64) int64 {
	h := &w.heap
	if h.FrameKind == cpython.FrameObject {
		return int64(w.mem.int32(addr + uint64(h.FrameInstr)))
	}
	return int64(w.mem.word(addr+uint64(h.FrameInstr)) - code - uint64(h.CodeBytes))
}

// visitGenerator looks into a generator or coroutine: its frame, unless it is over, and what is behind that.
func (w *walker) visitGenerator(n int32, addr uint64, t *typ) {
	h := &w.heap
	if h.GenFrame == 0 {
		w.follow(n, w.mem.word(addr+uint64(h.GenFramePtr)), named(fixedGenerator))
		return
	}
	if state := w.mem.bytes(addr+uint64(h.GenState), 1); state == nil || h.Phase(int8(state[0])) == cpython.GenFinished {
		return
	}
	w.visitFrame(n, addr+uint64(h.GenFrame))
	w.visitWords(n, addr, t, 16, uint64(h.GenFrame)) // the exception it handles, where it was made
}

// visitFunction follows what a function keeps: defaults, closure, attributes. Its globals lead out.
func (w *walker) visitFunction(n int32, addr uint64) {
	h := &w.heap
	w.visitClosure(n, addr)
	w.follow(n, w.mem.word(addr+uint64(h.FuncDefaults)), named(fixedDefaults))
	w.follow(n, w.mem.word(addr+uint64(h.FuncKwDefaults)), named(fixedKwDefaults))
	if globals := w.mem.word(addr + uint64(h.FuncGlobals)); w.survey != nil {
		w.survey.take(w, globals, stepGlobals, 0)
	} else if w.deferring {
		if _, ok := w.known(globals); !ok && !w.spaces[globals] {
			w.defer_(n, globals, named(fixedGlobals))
		}
	} else {
		w.follow(n, globals, named(fixedGlobals))
	}
	w.visitWords(n, addr, &typ{}, uint64(h.FuncModule)+8, uint64(h.FuncModule)+24) // annotations, and how to make them
}

// visitClosure follows the cells of a closure under the names of its free variables.
func (w *walker) visitClosure(n int32, addr uint64) {
	closure := w.mem.word(addr + uint64(w.heap.FuncClosure))
	if closure == 0 || !w.isShape(closure, shapeTuple) {
		return
	}
	names := w.freeNames(w.mem.word(addr + uint64(w.heap.FuncCode)))
	isNew := w.part(n, closure)
	for i, cell := range w.tuple(closure, maxLocals) {
		l := label{labelIndex, uint64(i)}
		if i < len(names) {
			l = label{labelClosure, names[i]}
		}
		w.once(isNew, func() { w.follow(n, cell, l) })
	}
}

// line returns the line that a frame is at, 0 if not known.
func (w *walker) line(n int32, f frame) int32 {
	if p := w.nodes[n].parent; p >= 0 && w.isShape(w.addrs[p], shapeTraceback) {
		tb := w.addrs[p]
		if line := w.mem.int32(tb + cpython.TracebackLine); line > 0 {
			return line
		}
		f.at = int64(w.mem.int32(tb + cpython.TracebackLast))
		if w.heap.Version.Minor == 10 {
			f.at /= 2
		}
	}
	const maxTable = 1 << 20
	h := &w.heap
	table := w.mem.word(f.code + uint64(h.CodeLineTable))
	if t := w.objectType(table); t == nil || t.flags&cpython.FlagBytes == 0 {
		return 0
	}
	size := min(w.mem.word(table+uint64(h.VarSize)), maxTable)
	if w.climbs.tables += size; w.climbs.tables > maxTables {
		return 0
	}
	raw := w.mem.bytes(table+uint64(h.BytesData), int(size))
	if raw == nil {
		return 0
	}
	return int32(max(0, min(cpython.Line(h.Version, w.mem.int32(f.code+uint64(h.CodeFirstLine)), raw, f.at), 1<<31-1)))
}
