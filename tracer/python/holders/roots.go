package holders

import (
	"slices"
	"strconv"
	"strings"

	"ipytracer/tracer/python/cpython"
)

// walk follows all roots, in their order.
func (w *walker) walk() {
	modules := w.modules()
	if w.survey != nil {
		w.survey.notes.modules = modules
	}
	for _, m := range modules {
		w.spaces[m.dict] = true
	}
	main := w.moduleDict(modules, "__main__")
	if w.survey != nil && w.sizes != nil {
		w.sizes.numpy = w.numpyVersion(w.moduleDict(modules, "numpy"))
	}
	threads := w.readThreads()
	w.deferring = w.survey == nil // the order does not matter to it
	names := w.namespace(main)
	w.shell = readShell(w, names)
	if main != 0 {
		w.kind = kindVariable
		w.part(-1, main) // it is the root itself
	}
	w.variables(names)
	w.outputs(names, w.moduleDict(modules, "builtins"))
	w.tracebacks(names, w.moduleDict(modules, "sys"))
	w.threads(threads)
	w.deferring = false
	w.kind = kindModule
	for _, last := range []bool{false, true} { // what it imported is found where it comes from
		for _, m := range modules {
			if last == (m.name == "__main__") {
				w.sharedRoot(m.addr, m.name)
			}
		}
		w.run()
	}
	w.flush()
	w.interpreter()
	w.visitTemporaries()
	w.followDoubts()
	if w.survey == nil {
		w.garbage()
	}
}

// sharedRoot follows a reference that an object has which is looked into as well.
func (w *walker) sharedRoot(to uint64, name string) {
	w.once(false, func() { w.root(to, name) })
}

// root follows a reference of no object.
func (w *walker) root(to uint64, name string) {
	w.names = append(w.names, name)
	w.follow(-1, to, label{labelRoot, uint64(len(w.names) - 1)})
}

// module is an entry of sys.modules that is a module.
type module struct {
	name       string
	addr, dict uint64
}

const maxModules = 1 << 16

// modules reads sys.modules, unless a survey has.
func (w *walker) modules() (all []module) {
	if w.notes != nil && w.notes.modules != nil {
		return w.notes.modules
	}
	dict := w.mem.word(w.heap.Interpreter + uint64(w.heap.InterpModules))
	if !w.isShape(dict, shapeDict) {
		return nil
	}
	var keys, values []uint64
	w.entries(dict, func(key, value uint64) bool {
		keys, values = append(keys, key), append(values, value)
		return len(keys) < maxModules
	})
	all = make([]module, len(keys))
	w.mem.inOrder(keys, func(i int) {
		if name, ok := w.text(keys[i], maxName); ok {
			all[i] = module{name: name, addr: values[i]} // of which some may be something else that was put there
		}
	})
	w.mem.inOrder(values, func(i int) {
		if all[i].addr != 0 && values[i]&7 == 0 && w.isShape(values[i], shapeModule) {
			all[i].dict = w.mem.word(values[i] + uint64(w.heap.ModuleDict))
		}
	})
	return slices.DeleteFunc(all, func(m module) bool { return m.addr == 0 })
}

func (w *walker) moduleDict(all []module, name string) uint64 {
	for _, m := range all {
		if m.name == name && w.isShape(m.dict, shapeDict) {
			return m.dict
		}
	}
	return 0
}

// binding is a name in a namespace.
type binding struct {
	name  string
	value uint64
}

// namespace reads the names of a dict.
func (w *walker) namespace(dict uint64) (all []binding) {
	if dict == 0 {
		return nil
	}
	w.entries(dict, func(key, value uint64) bool {
		if name, ok := w.text(key, maxName); ok {
			all = append(all, binding{name, value})
		}
		return !w.done()
	})
	return all
}

// variables follows the names that are the user's, then runs.
func (w *walker) variables(names []binding) {
	w.kind = kindVariable
	for _, b := range names {
		if !isIPythons(b.name) || w.shell.isUsers(b) {
			w.root(b.value, b.name)
		}
	}
	w.run()
}

// outputs follows what IPython keeps of outputs: Out first, so that Out[7] is found before _7.
func (w *walker) outputs(names []binding, builtins uint64) {
	w.kind = kindOutput
	for _, first := range []bool{true, false} {
		for _, b := range names {
			if isOut := b.name == "Out" || b.name == "_oh"; isIPythons(b.name) && !w.shell.isUsers(b) && isOut == first {
				w.root(b.value, b.name)
			}
			if first {
				w.run()
			}
		}
		w.run()
	}
	w.sharedRoot(w.lookup(builtins, "_"), "_")
	w.run()
}

// isIPythons says whether IPython put a name into __main__.
func isIPythons(name string) bool {
	switch name {
	case "In", "Out", "_", "__", "___", "_oh", "_ih", "_dh", "_i", "_ii", "_iii", "get_ipython", "exit", "quit", "open":
		return true
	}
	digits := strings.TrimPrefix(strings.TrimPrefix(name, "_"), "i")
	_, err := strconv.ParseUint(digits, 10, 32)
	return name[:min(1, len(name))] == "_" && err == nil
}

// tracebacks follows the exception that was shown last: of sys, and IPython's own copy.
func (w *walker) tracebacks(names []binding, sys uint64) {
	w.kind = kindTraceback
	if sys != 0 {
		for _, name := range []string{"last_traceback", "last_value", "last_exc"} {
			w.sharedRoot(w.lookup(sys, name), "sys."+name)
		}
	}
	for _, b := range names {
		if b.name != "get_ipython" {
			continue
		}
		const self = 24 // PyMethodObject.im_self
		for _, name := range []string{"InteractiveTB", "SyntaxTB"} {
			shown := w.attributeOf(w.attributeOf(w.mem.word(b.value+self), name), "tb")
			w.sharedRoot(shown, "get_ipython()."+name+".tb")
		}
	}
	w.run()
}

// attributeOf is attribute for an object of any type.
func (w *walker) attributeOf(obj uint64, name string) uint64 {
	if t := w.objectType(obj); t != nil {
		return w.attribute(obj, t, name)
	}
	return 0
}

// thread is a thread of the interpreter: its PyThreadState and its frames, the innermost first.
type thread struct {
	addr   uint64
	frames []uint64
}

// readThreads reads the frames that run.
func (w *walker) readThreads() (all []thread) {
	const most = 1 << 12
	state := w.mem.word(w.heap.Interpreter + uint64(w.heap.InterpThreadsHead))
	for ; state != 0 && len(all) < most && !w.done(); state = w.mem.word(state + uint64(w.heap.ThreadNext)) {
		f := w.mem.word(state + uint64(w.heap.ThreadFrame))
		if w.heap.FrameKind == cpython.FrameCFrame {
			f = w.mem.word(f + uint64(w.heap.CFrameCurrent))
		}
		one := thread{addr: state}
		for f != 0 && f&7 == 0 && !w.running[f] && len(w.running) < maxFrames && !w.done() {
			w.running[f] = true
			if slices.Contains(w.limits.Running, state) {
				if w.cells == nil {
					w.cells = map[uint64]bool{}
				}
				w.cells[f] = true
			}
			one.frames = append(one.frames, f)
			f = w.mem.word(f + uint64(w.heap.FrameBack))
		}
		all = append(all, one)
	}
	return all
}

// threads follows the frames that run, and what else a thread has: its dict, its context, what it handles.
func (w *walker) threads(all []thread) {
	w.kind = kindThread
	w.names = append(w.names, "(thread)")
	at := label{labelRoot, uint64(len(w.names) - 1)}
	for _, t := range all {
		for _, f := range t.frames {
			w.frameRoot(f, at)
		}
	}
	w.run()
	for _, t := range all {
		w.mem.words(t.addr, uint64(min(w.heap.ThreadSize, maxBasic)/8), func(_, word uint64) bool {
			w.looseWord(-1, word, at)
			return !w.done()
		})
	}
	w.run()
}

// frameRoot takes a frame that runs.
func (w *walker) frameRoot(addr uint64, at label) {
	if _, ok := w.known(addr); ok || addr < lowestAddress || addr >= userSpace {
		return
	}
	if w.heap.FrameKind == cpython.FrameObject {
		if t := w.objectType(addr); t != nil && t.shape == shapeFrame {
			w.add(-1, addr, at, isObject)
		}
		return
	}
	owner := w.mem.bytes(addr+uint64(w.heap.FrameOwner), 1)
	if owner != nil && uint32(owner[0]) < w.heap.OwnerSkip { // others have no Python code
		w.add(-1, addr, at, isFrame)
	}
}

// interpreter follows what the interpreter itself has beside sys.modules, such as codecs and hooks. What lies further away
// is not looked at: there are lists of free objects.
func (w *walker) interpreter() {
	const before, size = 64, 320
	w.kind = kindModule
	w.names = append(w.names, "(interpreter)")
	at := label{labelRoot, uint64(len(w.names) - 1)}
	w.mem.words(w.heap.Interpreter+uint64(w.heap.InterpModules)-before, size/8, func(_, word uint64) bool {
		w.looseWord(-1, word, at)
		return !w.done()
	})
	w.run()
}
