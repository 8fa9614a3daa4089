package holders

import (
	"slices"
	"strconv"
	"strings"

	"ipytracer/event"
	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/walk"
)

// imports notes the names of the modules that a notebook has imported.
func (l *lister) imports(names []objects.Binding, modules []objects.Module) {
	aliases := map[uint64]string{} // by the module's address
	for _, b := range names {
		if l.IsShape(b.Value, objects.ShapeModule) && aliases[b.Value] == "" {
			aliases[b.Value] = b.Name
		}
	}
	l.imported = map[string]string{}
	for _, m := range modules {
		if alias := aliases[m.Addr]; alias != "" {
			l.imported[m.Name] = alias
		}
	}
}

// variables lists the names in __main__ that are the user's.
func (l *lister) variables(names []objects.Binding) {
	l.Kind = walk.KindVariable
	for _, b := range names {
		if l.Shell.IsUsers(b) || !objects.IsIPythons(b.Name) && !strings.HasPrefix(b.Name, "__") {
			l.bind(b.Name, b.Value, event.HeldByVariable).addName(b.Name)
			emptying{l}.addName(b)
		}
	}
	emptying{l}.runs()
	l.Run()
}

// followInside follows the references of an object of IPython's, except those for which taken reports that they are
// followed elsewhere.
func (l *lister) followInside(addr uint64, taken func(name string, value uint64) bool) {
	n, ok := l.Known(addr)
	t := l.ObjectType(addr)
	if !ok || t == nil {
		return
	}
	each := func(key, value uint64) bool {
		if name, _ := l.Text(key, objects.MaxName); !taken(name, value) {
			l.Follow(n, value, walk.Label{})
		}
		return !l.Done()
	}
	if t.Shape == objects.ShapeDict {
		l.Entries(addr, each)
	} else if dict := (walk.Visits{Walker: l.Walker}).Attributes(addr, t, each); dict != 0 {
		l.Part(n, dict)
	}
}

// outputs lists IPython's outputs by their names in Out, wherever else IPython keeps them.
func (l *lister) outputs(names []objects.Binding, s objects.Shell, builtins uint64) {
	l.Kind = walk.KindOutput
	if l.IsShape(s.Out, objects.ShapeDict) {
		l.Entries(s.Out, func(key, value uint64) bool {
			if n, ok := l.Integer(key); ok {
				l.bind("Out["+strconv.FormatInt(n, 10)+"]", value, event.HeldByOutput).markInHistory()
			}
			return !l.Done()
		})
	}
	output := func(name string, value uint64) bool {
		if objects.IsOutput(name) {
			l.bind(name, value, event.HeldByOutput).markInHistory()
		}
		return objects.IsOutput(name)
	}
	for _, b := range names {
		if objects.IsOutput(b.Name) && !s.IsUsers(b) {
			l.bind(b.Name, b.Value, event.HeldByOutput).addOutput(b.Name)
		}
	}
	l.bind("builtins._", l.Lookup(builtins, "_"), event.HeldByOutput).toRelease().barred = true
	l.Run()
	l.Kind = walk.KindModule // IPython's own objects are no output
	l.followInside(s.Hidden, output)
	l.followInside(s.Hook, output)
	l.followInside(s.Result, func(name string, value uint64) bool {
		_, known := l.byAddr[value]
		if name == "result" && known {
			l.bind("", value, event.HeldByOutput).toRelease().lastResult = true
			return true
		}
		return strings.HasPrefix(name, "error_") // see tracebacks
	})
}

// tracebacks lists everything that IPython and Python keep of the exception that was shown last.
func (l *lister) tracebacks(s objects.Shell, sys uint64) {
	l.Kind = walk.KindTraceback
	l.groups = append(l.groups, group{names: []string{"the last traceback"}, kind: event.HeldByTraceback})
	g := len(l.groups) - 1
	l.failed = failedIn(l.Reader, s, sys)
	for _, name := range ofTraceback {
		if sys != 0 {
			l.hold(g, l.Lookup(sys, name))
		}
	}
	for _, name := range []string{"error_before_exec", "error_in_exec"} {
		l.hold(g, l.AttributeOf(s.Result, name))
	}
	for _, shown := range s.Shown {
		l.hold(g, l.AttributeOf(shown, "tb"))
	}
	l.Run()
	l.Kind = walk.KindModule
	for _, shown := range s.Shown {
		l.followInside(shown, func(name string, _ uint64) bool { return name == "tb" })
	}
}

// ofTraceback are the names under which sys keeps the exception that was shown last.
var ofTraceback = []string{"last_traceback", "last_value", "last_exc"}

// threads lists the locals of each frame that runs, and the other objects of threads.
func (l *lister) threads(threads []walk.Thread) {
	l.Kind = walk.KindThread
	for _, t := range threads {
		for _, f := range t.Frames {
			walk.Roots{Walker: l.Walker}.FrameRoot(f, walk.Label{})
			if n, ok := l.Known(f); ok {
				l.groups = append(l.groups, group{kind: event.HeldByThread, targets: []int32{n}})
				l.extents.group = tailOf(len(l.groups) - 1)
				l.extents.Count(nobody, n)
				l.extents.group = nobody
			}
		}
	}
	l.Run()
	for _, t := range threads {
		l.Mem.Words(t.Addr, uint64(min(l.Heap.ThreadSize, objects.MaxBasic)/8), func(_, word uint64) bool {
			walk.Visits{Walker: l.Walker}.Word(nobody, word, walk.Label{})
			return !l.Done()
		})
	}
	l.Run()
}

// modules lists the attributes of modules. It reads the names of many modules at a time.
func (l *lister) modules(modules []objects.Module) {
	for len(modules) > 0 && !l.Done() {
		names := &moduleNames{w: l.Walker}
		count := 0
		for count < len(modules) && names.hasRoom() {
			names.add(modules[count].Dict)
			count++
		}
		names.read()
		for i, m := range modules[:count] {
			l.module(m, names.namesOf(i))
		}
		modules = modules[count:]
	}
}

// module lists the attributes of a module that names has.
func (l *lister) module(m objects.Module, names []objects.Binding) {
	if len(l.Nodes) > l.Notes.Containers/2 { // two whole walks take too much memory at a time
		l.Notes.Wait()
	}
	l.Kind = walk.KindModule
	if !l.IsShape(m.Dict, objects.ShapeDict) {
		l.bind(m.Name, m.Addr, event.HeldByModule)
		l.Run()
		return
	}
	places := emptying{l}.placesIn(m)
	for _, b := range names {
		if m.Name == "sys" && slices.Contains(ofTraceback, b.Name) || m.Name == "builtins" && b.Name == "_" {
			continue // listed by tracebacks and outputs
		}
		if !strings.HasPrefix(b.Name, "__") {
			l.bind(m.Name+"."+b.Name, b.Value, event.HeldByModule)
			places.addName(b)
		}
	}
	l.Run()
}

// walk follows all names, the user's first.
func (l *lister) walk() {
	w := l.Walker
	modules := w.Modules()
	for _, m := range modules {
		w.Spaces[m.Dict] = true
	}
	for _, m := range modules { // their names are roots of their own
		if m.Dict != 0 && w.Part(nobody, m.Dict) {
			w.Part(nobody, m.Addr)
		}
	}
	main := w.ModuleDict(modules, "__main__")
	sys, builtins := w.ModuleDict(modules, "sys"), w.ModuleDict(modules, "builtins")
	threads := w.ReadThreads()
	w.Deferring = true
	names := w.Namespace(main)
	w.Shell = objects.ReadShell(w.Reader, names)
	l.shellApart()
	l.imports(names, modules)
	l.variables(names)
	l.outputs(names, w.Shell, builtins)
	l.tracebacks(w.Shell, sys)
	l.threads(threads)
	l.closures()
	w.Deferring = false
	if w.Limits.Names {
		w.Flush()
		w.FollowDoubts()
		l.others(modules)
		return
	}
	l.modules(slices.DeleteFunc(slices.Clone(modules), func(m objects.Module) bool {
		return m.Name == "__main__" || m.Dict == main && main != 0 // __mp_main__ is another name of __main__
	}))
	w.Flush()
	for _, b := range l.late {
		l.hold(b.group, b.addr)
	}
	w.Run()
	w.FollowDoubts()
	l.others(modules)
}

// closures follows names of the user's for functions of modules, before the modules themselves: the closure of such a
// function may have been made for the user, as a decorator does.
func (l *lister) closures() {
	l.Kind = walk.KindVariable
	rest := l.late[:0]
	for _, b := range l.late {
		if !l.IsShape(b.addr, objects.ShapeFunction) {
			rest = append(rest, b)
			continue
		}
		l.Deferring = false // for the function itself
		l.hold(b.group, b.addr)
		l.Deferring = true
		l.Run()
	}
	l.late = rest
}

// shellApart makes parts of the objects of IPython's shell, so that only followInside looks into them.
func (l *lister) shellApart() {
	s := &l.Shell
	for _, addr := range append([]uint64{s.Out, s.Hidden, s.Hook, s.Result}, s.Shown...) {
		if l.ObjectType(addr) != nil {
			l.Part(nobody, addr)
		}
	}
}

// others looks at the objects to which no name has led: those that may wait for the garbage collector. What these refer
// to, they hold. Objects that are not looked at count as held by something else: those that are known not to wait, and
// those for which there is no time or room.
func (l *lister) others(modules []objects.Module) {
	l.loose = len(l.Nodes)
	if l.Stopped != nil {
		return
	}
	defer func() { l.Stopped, l.Mem.Err = nil, nil }()
	l.Kind = walk.KindCycle
	held := walk.HeldElsewhere(l.Walker, modules)
	l.AddUnreached(walk.Label{}, func(id int32) bool { return !held.Has(id) && !l.Done() })
	l.Run()
	l.FollowDoubts()
	l.unmet = held.Bytes()
}
