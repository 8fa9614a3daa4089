package holders

import (
	"strings"

	"ipytracer/event"
	"ipytracer/internal/python/cpython"
)

// Some memory goes although its names stay: code empties what has it. Such are the caches of functions, whoever has the
// functions; containers that are attributes of the notebook's classes and modules; and Matplotlib's figures. Modules
// that nobody installed are the notebook's, as it imports them from its own files.

// containers are the types with a method clear().
var containers = map[string]bool{
	"dict": true, "list": true, "set": true, "collections.deque": true, "collections.OrderedDict": true,
	"collections.defaultdict": true,
}

// maxAttributes is how many attributes of a class are looked at.
const maxAttributes = 1 << 10

// releases notes that a group is let go of in another way than by its names, and the expression with which it is.
func (g *group) releases(how event.Release, expression string) {
	let := g.letting()
	let.how, let.mine, let.more = how, []string{expression}, false
}

// emptying takes what code empties into a listing.
type emptying struct{ *lister }

// placesOf takes a name of the notebook: a function with a cache, or a class with such attributes.
func (l emptying) placesOf(b binding) {
	t := l.objectType(b.value)
	g, bound := l.byAddr[b.value]
	if t == nil || !bound {
		return
	}
	l.groups[g].letting().tool = l.toolOf(t)
	switch {
	case t.name == lruCache:
		l.empties(g, l.cacheOf(b.value, t), event.ReleaseCache, b.name)
	case t.shape == shapeType && l.isOfModule(b.value, "__main__"):
		l.attributesOf(b, event.HeldByVariable, b.name+".")
	}
}

// toolOf returns the kind of tool that instances of a type are.
func (l emptying) toolOf(t *typ) event.Tool {
	switch {
	case t.shape == shapeModule, t.shape == shapeFunction, t.shape == shapeType, t.name == lruCache:
		return event.ToolName
	}
	for at, n := t, 0; at != nil && n < maxBases && at.flags&cpython.FlagHeapType != 0; n++ {
		if at.name == "Optimizer" && l.isOfModule(at.addr, "torch.optim.optimizer") {
			return event.ToolOptimizer
		}
		if at.up == at.addr {
			break
		}
		at = l.typeAt(at.up)
	}
	return event.ToolNone
}

// attributesOf takes the caches and the containers that are attributes of a class. Expressions for them begin with a
// text.
func (l emptying) attributesOf(class binding, kind event.HolderKind, begin string) {
	for i, b := range l.namespace(l.mem.word(class.value + cpython.TypeDict)) {
		t := l.objectType(b.value)
		if i == maxAttributes || t == nil || strings.HasPrefix(b.name, "__") {
			continue
		}
		if t.name == "staticmethod" || t.name == "classmethod" {
			const callable = 16 // cm_callable
			b.value = l.mem.word(b.value + callable)
			t = l.objectType(b.value)
		}
		how, contents, expression := event.ReleaseClear, b.value, begin+b.name
		switch {
		case t == nil:
			continue
		case t.name != lruCache && !containers[t.name]:
			l.attribute(class, b, kind, begin)
			continue
		case t.name == lruCache:
			how, contents = event.ReleaseCache, l.cacheOf(b.value, t)
		case class.name+"."+b.name == figures:
			how, expression = event.ReleaseFigures, l.imported["matplotlib.pyplot"]
		}
		if _, known := l.known(contents); known || len(l.groups) >= maxGroups {
			continue
		}
		_, named := l.byAddr[b.value]
		g := l.groupOf(b.value, kind)
		l.groups[g].place = !named
		if !named {
			l.groups[g].names = append(l.groups[g].names, class.name+"."+b.name)
		}
		l.empties(g, contents, how, expression)
		l.hold(g, b.value)
	}
}

// attribute takes another attribute of a class, if it may have data: it goes with None in its place. The class then
// holds it under that name.
func (l emptying) attribute(class, b binding, kind event.HolderKind, begin string) {
	t := l.objectType(b.value)
	if l.extents.lets == nil {
		l.extents.lets = map[[2]uint64]int32{}
	}
	arc := [2]uint64{class.value, b.value}
	tail, known := l.extents.lets[arc]
	switch {
	case known:
		l.groups[-2-tail].letting().also(begin + b.name)
	case t.shape != shapeArray && t.shape != shapeWords || descriptors[t.name] || len(l.groups) >= maxGroups:
	default:
		l.extents.lets[arc] = int32(-2 - len(l.groups))
		g := group{names: []string{class.name + "." + b.name}, addr: b.value, kind: kind, place: true}
		g.releases(event.ReleaseAttr, begin+b.name)
		l.groups = append(l.groups, g)
		l.hold(len(l.groups)-1, b.value)
	}
}

// also adds an expression for the same object.
func (let *letGo) also(expression string) {
	if len(let.mine) < maxAlso {
		let.mine = append(let.mine, expression)
	} else {
		let.barred = true
	}
}

// descriptors are attributes of classes that are code.
var descriptors = map[string]bool{
	"property": true, "getset_descriptor": true, "member_descriptor": true, "method_descriptor": true,
	"wrapper_descriptor": true, "classmethod_descriptor": true, "builtin_function_or_method": true,
	"functools.partialmethod": true, "_abc._abc_data": true,
}

// figures is where pyplot keeps the figures that are open.
const figures = "matplotlib._pylab_helpers.Gcf.figs"

// cacheOf returns the dict with the results of a function with a cache: the first of its words behind its links, see
// [borrowed].
func (l emptying) cacheOf(wrapper uint64, t *typ) (dict uint64) {
	links := borrowed[lruCache]
	l.mem.words(wrapper+links, (min(max(t.basic, links), 256)-links)/8, func(_, word uint64) bool {
		if known := l.objectType(word); known != nil && known.name == "dict" {
			dict = word
		}
		return dict == 0
	})
	return dict
}

// empties has a group hold what code empties. It does nothing where that has been reached by another way before.
func (l emptying) empties(g int, contents uint64, how event.Release, expression string) {
	if _, known := l.known(contents); known {
		return
	}
	l.hold(g, contents)
	if n, ok := l.known(contents); ok {
		l.extents.empty(n, int32(-2-g))
		l.groups[g].releases(how, expression)
	}
}

// empty notes that a node is emptied with a group, which is a tail of arcs.
func (e *extents) empty(n, tail int32) {
	if e.emptied == nil {
		e.emptied = map[int32]int32{}
	}
	e.emptied[n] = tail
}

// runs takes the modules of files that %run has run: IPython keeps them, and with them what the files have made, beside
// the names that the notebook gets of it.
func (l emptying) runs() {
	if !l.isShape(l.shell.runs, shapeDict) || len(l.groups) >= maxGroups {
		return
	}
	const expression = event.OfShell + "_main_mod_cache"
	g := l.groupOf(l.shell.runs, event.HeldByVariable)
	l.groups[g].place, l.groups[g].names = true, []string{"%run"}
	l.empties(g, l.shell.runs, event.ReleaseClear, expression)
	l.hold(g, l.shell.runs)
}

// modulePlaces has what is needed to tell the places of a module.
type modulePlaces struct {
	emptying
	of    module
	users bool   // it is the notebook's own
	begin string // of expressions
}

// placesIn looks at a module.
func (l emptying) placesIn(m module) *modulePlaces {
	p := &modulePlaces{emptying: l, of: m, begin: m.name + ":"}
	file, _ := l.text(l.lookup(m.dict, "__file__"), maxPath)
	p.users = strings.HasSuffix(file, ".py") && !isInstalled(file)
	if alias := l.imported[m.name]; alias != "" {
		p.begin = alias + "."
	}
	return p
}

// isInstalled reports whether a file is one of Python's own or of an installed package.
func isInstalled(file string) bool {
	for _, part := range []string{"/site-packages/", "/dist-packages/", "/lib/python3", "/lib64/python3"} {
		if strings.Contains(file, part) {
			return true
		}
	}
	return false
}

// take takes a name of the module, once it is bound.
func (p *modulePlaces) take(b binding) {
	t := p.objectType(b.value)
	at, bound := p.byAddr[b.value]
	if t == nil || !bound || p.groups[at].kind != event.HeldByModule {
		return
	}
	g := &p.groups[at]
	if g.letGo != nil {
		if g.how == event.ReleaseAttr {
			g.also(p.begin + b.name)
		}
		return
	}
	name := p.of.name + "." + b.name
	switch {
	case t.name == lruCache:
		p.empties(at, p.cacheOf(b.value, t), event.ReleaseCache, p.begin+b.name)
	case t.shape == shapeType:
		if (p.users || strings.HasPrefix(figures, name+".")) && p.isOfModule(b.value, p.of.name) {
			p.attributesOf(binding{name, b.value}, event.HeldByModule, p.begin+b.name+".")
		}
	case !p.users || t.shape == shapeModule || t.shape == shapeFunction:
	case containers[t.name]:
		g.releases(event.ReleaseClear, p.begin+b.name)
		if n, ok := p.known(b.value); ok {
			p.extents.empty(n, int32(-2-at))
		}
	case len(g.names) == 1:
		g.releases(event.ReleaseAttr, p.begin+b.name)
	}
}

// ofList returns how many references to an object are those of the list that it is a link of: an entry of a function's
// bounded cache has one, which goes with the one that the cache's dict has (Modules/_functoolsmodule.c).
func ofList(t *typ, references uint32) uint32 {
	if t.name == "functools._lru_list_elem" {
		return min(references, 1)
	}
	return 0
}
