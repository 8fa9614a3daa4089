package holders

import (
	"ipytracer/internal/python/cpython"
)

// roots are where references to objects begin.
type roots struct{ *walker }

// follows follows all roots, in their order; deferring is false where that does not matter.
func (r roots) follows(modules []module, deferring bool) {
	for _, m := range modules {
		r.spaces[m.dict] = true
	}
	main := r.moduleDict(modules, "__main__")
	threads := r.readThreads()
	r.deferring = deferring
	names := r.namespace(main)
	r.shell = readShell(r.reader, names)
	if main != 0 {
		r.kind = kindVariable
		r.part(-1, main) // it is the root itself
	}
	r.variables(names)
	r.outputs(names, r.moduleDict(modules, "builtins"))
	r.tracebacks(names, r.moduleDict(modules, "sys"))
	r.threads(threads)
	r.deferring = false
	r.kind = kindModule
	for _, last := range []bool{false, true} { // its imports are found in their own modules
		for _, m := range modules {
			if last == (m.name == "__main__") {
				r.sharedRoot(m.addr, m.name)
			}
		}
		r.run()
	}
	r.flush()
	r.interpreter()
	r.frames.visitTemporaries()
	r.beliefs.followDoubts()
}

// sharedRoot follows a reference of an object that is looked into as well.
func (r roots) sharedRoot(to uint64, name string) {
	r.once(false, func() { r.root(to, name) })
}

// root follows a reference of no object.
func (r roots) root(to uint64, name string) {
	r.follow(-1, to, r.rootLabel(name))
}

// variables follows the names that are the user's, then runs.
func (r roots) variables(names []binding) {
	r.kind = kindVariable
	for _, b := range names {
		if !isIPythons(b.name) || r.shell.isUsers(b) {
			r.root(b.value, b.name)
		}
	}
	r.run()
}

// outputs follows IPython's references to outputs: Out first, so that Out[7] is found before _7.
func (r roots) outputs(names []binding, builtins uint64) {
	r.kind = kindOutput
	for _, first := range []bool{true, false} {
		for _, b := range names {
			if isOut := b.name == "Out" || b.name == "_oh"; isIPythons(b.name) && !r.shell.isUsers(b) &&
				isOut == first {
				r.root(b.value, b.name)
			}
			if first {
				r.run()
			}
		}
		r.run()
	}
	r.sharedRoot(r.lookup(builtins, "_"), "_")
	r.run()
}

// tracebacks follows the exception that was shown last: of sys, and IPython's own copy.
func (r roots) tracebacks(names []binding, sys uint64) {
	r.kind = kindTraceback
	if sys != 0 {
		for _, name := range []string{"last_traceback", "last_value", "last_exc"} {
			r.sharedRoot(r.lookup(sys, name), "sys."+name)
		}
	}
	for _, b := range names {
		if b.name != "get_ipython" {
			continue
		}
		const self = 24 // PyMethodObject.im_self
		for _, name := range []string{"InteractiveTB", "SyntaxTB"} {
			shown := r.attributeOf(r.attributeOf(r.mem.word(b.value+self), name), "tb")
			r.sharedRoot(shown, "get_ipython()."+name+".tb")
		}
	}
	r.run()
}

// threads follows the frames that run, and the other references of a thread: its dict, its context, the exceptions that
// it handles.
func (r roots) threads(all []thread) {
	r.kind = kindThread
	at := r.rootLabel("(thread)")
	for _, t := range all {
		for _, f := range t.frames {
			r.frameRoot(f, at)
		}
	}
	r.run()
	for _, t := range all {
		r.mem.words(t.addr, uint64(min(r.heap.ThreadSize, maxBasic)/8), func(_, word uint64) bool {
			visits(r).looseWord(-1, word, at)
			return !r.done()
		})
	}
	r.run()
}

// frameRoot takes a frame that runs.
func (r roots) frameRoot(addr uint64, at label) {
	if _, ok := r.known(addr); ok || addr < lowestAddress || addr >= userSpace {
		return
	}
	if r.heap.FrameKind == cpython.FrameObject {
		if t := r.objectType(addr); t != nil && t.shape == shapeFrame {
			r.addNew(-1, addr, at, nodeObject)
		}
		return
	}
	owner := r.mem.bytes(addr+uint64(r.heap.FrameOwner), 1)
	if owner != nil && uint32(owner[0]) < r.heap.OwnerSkip { // others have no Python code
		r.addNew(-1, addr, at, nodeFrame)
	}
}

// interpreter follows the interpreter's own references beside sys.modules, such as codecs and hooks. More distant
// memory is not looked at: there are lists of free objects.
func (r roots) interpreter() {
	const before, size = 64, 320
	r.kind = kindModule
	at := r.rootLabel("(interpreter)")
	r.mem.words(r.heap.Interpreter+uint64(r.heap.InterpModules)-before, size/8, func(_, word uint64) bool {
		visits(r).looseWord(-1, word, at)
		return !r.done()
	})
	r.run()
}
