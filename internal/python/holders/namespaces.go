package holders

import (
	"slices"
	"strconv"
	"strings"

	"ipytracer/event"
)

// imports notes the names of the modules that a notebook has imported.
func (l *lister) imports(names []binding, modules []module) {
	by := map[uint64]string{}
	for _, b := range names {
		if l.isShape(b.value, shapeModule) && by[b.value] == "" {
			by[b.value] = b.name
		}
	}
	l.imported = map[string]string{}
	for _, m := range modules {
		if alias := by[m.addr]; alias != "" {
			l.imported[m.name] = alias
		}
	}
}

func (l *lister) variables(names []binding) {
	l.kind = kindVariable
	for _, b := range names {
		if l.shell.isUsers(b) || !isIPythons(b.name) && !strings.HasPrefix(b.name, "__") {
			l.bind(b.name, b.value, event.HeldByVariable).typed(b.name)
			emptying{l}.placesOf(b)
		}
	}
	emptying{l}.runs()
	l.run()
}

// inside follows the references of such an object. The values of some names are taken elsewhere.
func (l *lister) inside(addr uint64, taken func(name string, value uint64) bool) {
	n, ok := l.known(addr)
	t := l.objectType(addr)
	if !ok || t == nil {
		return
	}
	each := func(key, value uint64) bool {
		if name, _ := l.text(key, maxName); !taken(name, value) {
			l.follow(n, value, label{})
		}
		return !l.done()
	}
	if t.shape == shapeDict {
		l.entries(addr, each)
	} else if dict := (visits{l.walker}).attributes(addr, t, each); dict != 0 {
		l.part(n, dict)
	}
}

// outputs has IPython's outputs under their names in Out, wherever else IPython has them.
func (l *lister) outputs(names []binding, s shell, builtins uint64) {
	l.kind = kindOutput
	if l.isShape(s.out, shapeDict) {
		l.entries(s.out, func(key, value uint64) bool {
			if n, ok := l.integer(key); ok {
				l.bind("Out["+strconv.FormatInt(n, 10)+"]", value, event.HeldByOutput).keep()
			}
			return !l.done()
		})
	}
	output := func(name string, value uint64) bool {
		if isOutput(name) {
			l.bind(name, value, event.HeldByOutput).keep()
		}
		return isOutput(name)
	}
	for _, b := range names {
		if isOutput(b.name) && !s.isUsers(b) {
			l.bind(b.name, b.value, event.HeldByOutput).output(b.name)
		}
	}
	l.bind("builtins._", l.lookup(builtins, "_"), event.HeldByOutput).bar()
	l.run()
	l.kind = kindModule // IPython's own objects are no output
	l.inside(s.hidden, output)
	l.inside(s.hook, output)
	l.inside(s.result, func(name string, value uint64) bool {
		_, known := l.byAddr[value]
		if name == "result" && known {
			l.bind("", value, event.HeldByOutput).last()
			return true
		}
		return strings.HasPrefix(name, "error_") // see tracebacks
	})
}

// tracebacks has everything that IPython and Python keep of the exception that was shown last.
func (l *lister) tracebacks(s shell, sys uint64) {
	l.kind = kindTraceback
	l.groups = append(l.groups, group{names: []string{"the last traceback"}, kind: event.HeldByTraceback})
	g := len(l.groups) - 1
	l.failed = failedIn(l.reader, s, sys)
	for _, name := range ofTraceback {
		if sys != 0 {
			l.hold(g, l.lookup(sys, name))
		}
	}
	for _, name := range []string{"error_before_exec", "error_in_exec"} {
		l.hold(g, l.attributeOf(s.result, name))
	}
	for _, shown := range s.shown {
		l.hold(g, l.attributeOf(shown, "tb"))
	}
	l.run()
	l.kind = kindModule
	for _, shown := range s.shown {
		l.inside(shown, func(name string, _ uint64) bool { return name == "tb" })
	}
}

// ofTraceback are the names that sys has it under.
var ofTraceback = []string{"last_traceback", "last_value", "last_exc"}

// threads has the locals of each frame that runs, and the other objects of a thread.
func (l *lister) threads(all []thread) {
	l.kind = kindThread
	for _, t := range all {
		for _, f := range t.frames {
			roots{l.walker}.frameRoot(f, label{})
			if n, ok := l.known(f); ok {
				l.groups = append(l.groups, group{kind: event.HeldByThread, targets: []int32{n}})
				l.extents.group = int32(-2 - (len(l.groups) - 1))
				l.extents.count(nobody, n)
				l.extents.group = nobody
			}
		}
	}
	l.run()
	for _, t := range all {
		l.mem.words(t.addr, uint64(min(l.heap.ThreadSize, maxBasic)/8), func(_, word uint64) bool {
			visits{l.walker}.word(nobody, word, label{})
			return !l.done()
		})
	}
	l.run()
}

// modules has each attribute of modules. Their names are read for many of them at a time.
func (l *lister) modules(all []module) {
	for len(all) > 0 && !l.done() {
		names := newModuleNames(l.walker)
		count := 0
		for count < len(all) && names.room() {
			names.add(all[count].dict)
			count++
		}
		names.read()
		for i, m := range all[:count] {
			l.module(m, names.of(i))
		}
		all = all[count:]
	}
}

// module has each attribute of a module, of which some are given.
func (l *lister) module(m module, names []binding) {
	if len(l.nodes) > l.notes.containers/2 { // two whole walks take too much memory at a time
		l.notes.wait()
	}
	l.kind = kindModule
	if !l.isShape(m.dict, shapeDict) {
		l.bind(m.name, m.addr, event.HeldByModule)
		l.run()
		return
	}
	places := emptying{l}.placesIn(m)
	for _, b := range names {
		if m.name == "sys" && slices.Contains(ofTraceback, b.name) || m.name == "builtins" && b.name == "_" {
			continue // taken
		}
		if !strings.HasPrefix(b.name, "__") {
			l.bind(m.name+"."+b.name, b.value, event.HeldByModule)
			places.take(b)
		}
	}
	l.run()
}
