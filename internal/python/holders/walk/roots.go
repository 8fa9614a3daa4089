package walk

import (
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/objects"
)

// Roots follows the references that no object holds: variables, outputs, tracebacks, threads, modules.
type Roots struct{ *Walker }

// FollowAll follows all roots, in the order of [event.HolderKind], and everything that they lead to. deferring is false
// where the order of findings does not matter.
func (r Roots) FollowAll(modules []objects.Module, deferring bool) {
	for _, m := range modules {
		r.Spaces[m.Dict] = true
	}
	main := r.ModuleDict(modules, "__main__")
	threads := r.ReadThreads()
	r.Deferring = deferring
	names := r.Namespace(main)
	r.Shell = objects.ReadShell(r.Reader, names)
	if main != 0 {
		r.Kind = KindVariable
		r.Part(-1, main) // it is the root itself
	}
	r.variables(names)
	r.outputs(names, r.ModuleDict(modules, "builtins"))
	r.tracebacks(names, r.ModuleDict(modules, "sys"))
	r.threads(threads)
	r.Deferring = false
	r.Kind = KindModule
	for _, isMain := range []bool{false, true} { // __main__ last: its imports are found in their own modules
		for _, m := range modules {
			if isMain == (m.Name == "__main__") {
				r.sharedRoot(m.Addr, m.Name)
			}
		}
		r.Run()
	}
	r.Flush()
	r.interpreter()
	r.visitTemporaries()
	r.FollowDoubts()
}

// sharedRoot follows a reference from an object that is looked into as well, which counts it.
func (r Roots) sharedRoot(to uint64, name string) {
	r.countIfNew(false, func() { r.root(to, name) })
}

// root follows a reference that no object holds.
func (r Roots) root(to uint64, name string) {
	r.Follow(-1, to, r.RootLabel(name))
}

// variables follows the names in __main__ that are the user's.
func (r Roots) variables(names []objects.Binding) {
	r.Kind = KindVariable
	for _, b := range names {
		if !objects.IsIPythons(b.Name) || r.Shell.IsUsers(b) {
			r.root(b.Value, b.Name)
		}
	}
	r.Run()
}

// outputs follows IPython's references to outputs: Out first, so that Out[7] is found before _7.
func (r Roots) outputs(names []objects.Binding, builtins uint64) {
	r.Kind = KindOutput
	for _, outFirst := range []bool{true, false} {
		for _, b := range names {
			isOut, isIPythons := b.Name == "Out" || b.Name == "_oh", objects.IsIPythons(b.Name) && !r.Shell.IsUsers(b)
			if isIPythons && isOut == outFirst {
				r.root(b.Value, b.Name)
			}
			if outFirst {
				r.Run()
			}
		}
		r.Run()
	}
	r.sharedRoot(r.Lookup(builtins, "_"), "_")
	r.Run()
}

// tracebacks follows the exception that was shown last, in sys and in IPython's own copy.
func (r Roots) tracebacks(names []objects.Binding, sys uint64) {
	r.Kind = KindTraceback
	if sys != 0 {
		for _, name := range []string{"last_traceback", "last_value", "last_exc"} {
			r.sharedRoot(r.Lookup(sys, name), "sys."+name)
		}
	}
	for _, b := range names {
		if b.Name != "get_ipython" {
			continue
		}
		const self = 24 // PyMethodObject.im_self
		for _, name := range []string{"InteractiveTB", "SyntaxTB"} {
			shown := r.AttributeOf(r.AttributeOf(r.Mem.Word(b.Value+self), name), "tb")
			r.sharedRoot(shown, "get_ipython()."+name+".tb")
		}
	}
	r.Run()
}

// threads follows the frames that run, and the other references of a thread: its dict, its context, the exceptions that
// it handles.
func (r Roots) threads(threads []Thread) {
	r.Kind = KindThread
	label := r.RootLabel("(thread)")
	for _, t := range threads {
		for _, f := range t.Frames {
			r.FrameRoot(f, label)
		}
	}
	r.Run()
	for _, t := range threads {
		r.Mem.Words(t.Addr, uint64(min(r.Heap.ThreadSize, objects.MaxBasic)/8), func(_, word uint64) bool {
			Visits(r).looseWord(-1, word, label)
			return !r.Done()
		})
	}
	r.Run()
}

// FrameRoot makes a node of a frame that runs.
func (r Roots) FrameRoot(addr uint64, l Label) {
	if _, ok := r.Known(addr); ok || addr < objects.LowestAddress || addr >= objects.UserSpace {
		return
	}
	if r.Heap.FrameKind == cpython.FrameObject {
		if t := r.ObjectType(addr); t != nil && t.Shape == objects.ShapeFrame {
			r.AddNew(-1, addr, l, NodeObject)
		}
		return
	}
	owner := r.Mem.Bytes(addr+uint64(r.Heap.FrameOwner), 1)
	if owner != nil && uint32(owner[0]) < r.Heap.OwnerSkip { // others have no Python code
		r.AddNew(-1, addr, l, NodeFrame)
	}
}

// interpreter follows the interpreter's own references, such as codecs and hooks, which lie around its reference to
// sys.modules. The rest of the interpreter's state has lists of free objects, and is not looked at.
func (r Roots) interpreter() {
	const before, size = 64, 320
	r.Kind = KindModule
	label := r.RootLabel("(interpreter)")
	r.Mem.Words(r.Heap.Interpreter+uint64(r.Heap.InterpModules)-before, size/8, func(_, word uint64) bool {
		Visits(r).looseWord(-1, word, label)
		return !r.Done()
	})
	r.Run()
}
