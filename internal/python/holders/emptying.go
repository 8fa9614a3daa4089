package holders

import (
	"strings"

	"ipytracer/event"
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/walk"
)

// Some memory can be freed without deleting a name: code empties the object that holds it. That works for the caches of
// functions, whoever holds the functions; for containers that are attributes of the notebook's classes and modules; and
// for Matplotlib's figures. A module is the notebook's if it comes from no installed package.

// containers are the types with a method clear().
var containers = map[string]bool{
	"dict": true, "list": true, "set": true, "collections.deque": true, "collections.OrderedDict": true,
	"collections.defaultdict": true,
}

// maxAttributes is how many attributes of a class are looked at.
const maxAttributes = 1 << 10

// emptying adds to a listing the groups that code can empty.
type emptying struct{ *lister }

// addName adds what code can empty behind a name of the notebook: the cache of a function, or the attributes of a
// class.
func (l emptying) addName(b objects.Binding) {
	t := l.ObjectType(b.Value)
	g, bound := l.byAddr[b.Value]
	if t == nil || !bound {
		return
	}
	l.groups[g].toRelease().tool = l.toolOf(t)
	switch {
	case t.Name == objects.LruCache:
		l.empties(g, l.cacheOf(b.Value, t), event.ReleaseCache, b.Name)
	case t.Shape == objects.ShapeType && l.isOfModule(b.Value, "__main__"):
		l.addAttributes(b, event.HeldByVariable, b.Name+".")
	}
}

// toolOf returns the kind of tool that instances of a type are.
func (l emptying) toolOf(t *objects.Type) event.Tool {
	switch {
	case t.Shape == objects.ShapeModule, t.Shape == objects.ShapeFunction, t.Shape == objects.ShapeType,
		t.Name == objects.LruCache:
		return event.ToolName
	}
	for base := range l.Bases(t) {
		switch {
		case base.Flags&cpython.FlagHeapType == 0:
			return event.ToolNone
		case base.Name == "Optimizer" && l.isOfModule(base.Addr, "torch.optim.optimizer"):
			return event.ToolOptimizer
		}
	}
	return event.ToolNone
}

// addAttributes adds the caches and the containers that are attributes of a class. begin is how expressions for them
// begin, such as "C.".
func (l emptying) addAttributes(class objects.Binding, kind event.HolderKind, begin string) {
	for i, b := range l.Namespace(l.Mem.Word(class.Value + cpython.TypeDict)) {
		t := l.ObjectType(b.Value)
		if i == maxAttributes || t == nil || strings.HasPrefix(b.Name, "__") {
			continue
		}
		if t.Name == "staticmethod" || t.Name == "classmethod" {
			const callable = 16 // cm_callable
			b.Value = l.Mem.Word(b.Value + callable)
			t = l.ObjectType(b.Value)
		}
		how, contents, expression := event.ReleaseClear, b.Value, begin+b.Name
		switch {
		case t == nil:
			continue
		case t.Name != objects.LruCache && !containers[t.Name]:
			l.addAttribute(class, b, kind, begin)
			continue
		case t.Name == objects.LruCache:
			how, contents = event.ReleaseCache, l.cacheOf(b.Value, t)
		case class.Name+"."+b.Name == figures:
			how, expression = event.ReleaseFigures, l.imported["matplotlib.pyplot"]
		}
		if _, known := l.Known(contents); known || len(l.groups) >= maxGroups {
			continue
		}
		_, named := l.byAddr[b.Value]
		g := l.groupOf(b.Value, kind)
		l.groups[g].place = !named
		if !named {
			l.groups[g].names = append(l.groups[g].names, class.Name+"."+b.Name)
		}
		l.empties(g, contents, how, expression)
		l.hold(g, b.Value)
	}
}

// addAttribute adds an attribute of a class that is neither a cache nor a container, if the attribute may have data.
// Setting the attribute to None frees the data. The group of the attribute, instead of the class, then holds the data.
func (l emptying) addAttribute(class, b objects.Binding, kind event.HolderKind, begin string) {
	t := l.ObjectType(b.Value)
	if l.extents.lets == nil {
		l.extents.lets = map[[2]uint64]int32{}
	}
	arc := [2]uint64{class.Value, b.Value}
	tail, known := l.extents.lets[arc]
	switch {
	case known:
		l.groups[groupOfTail(tail)].toRelease().addExpression(begin + b.Name)
	case t.Shape != objects.ShapeArray && t.Shape != objects.ShapeWords || descriptors[t.Name] ||
		len(l.groups) >= maxGroups:
	default:
		l.extents.lets[arc] = tailOf(len(l.groups))
		g := group{names: []string{class.Name + "." + b.Name}, addr: b.Value, kind: kind, place: true}
		g.setRelease(event.ReleaseAttr, begin+b.Name)
		l.groups = append(l.groups, g)
		l.hold(len(l.groups)-1, b.Value)
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
// [objects.Borrowed].
func (l emptying) cacheOf(wrapper uint64, t *objects.Type) (dict uint64) {
	links := objects.Borrowed[objects.LruCache]
	l.Mem.Words(wrapper+links, (min(max(t.Basic, links), 256)-links)/8, func(_, word uint64) bool {
		if known := l.ObjectType(word); known != nil && known.Name == "dict" {
			dict = word
		}
		return dict == 0
	})
	return dict
}

// empties notes that a group holds contents, how code empties them, and the expression for that. It does nothing if the
// contents were reached in another way before.
func (l emptying) empties(g int, contents uint64, how event.Release, expression string) {
	if _, known := l.Known(contents); known {
		return
	}
	l.hold(g, contents)
	if n, ok := l.Known(contents); ok {
		l.extents.empty(n, tailOf(g))
		l.groups[g].setRelease(how, expression)
	}
}

// empty notes that a node is emptied together with a group, given as a tail of arcs.
func (e *extents) empty(n, tail int32) {
	if e.emptied == nil {
		e.emptied = map[int32]int32{}
	}
	e.emptied[n] = tail
}

// runs adds a group for the modules of files that %run has run: IPython keeps the modules, and with them everything
// that the files made, beside the names that the notebook gets.
func (l emptying) runs() {
	if !l.IsShape(l.Shell.Runs, objects.ShapeDict) || len(l.groups) >= maxGroups {
		return
	}
	const expression = event.OfShell + "_main_mod_cache"
	g := l.groupOf(l.Shell.Runs, event.HeldByVariable)
	l.groups[g].place, l.groups[g].names = true, []string{"%run"}
	l.empties(g, l.Shell.Runs, event.ReleaseClear, expression)
	l.hold(g, l.Shell.Runs)
}

// modulePlaces adds what code can empty in one module.
type modulePlaces struct {
	emptying
	module objects.Module
	users  bool   // the module is the notebook's own
	begin  string // how expressions for its names begin
}

// placesIn returns the places of a module.
func (l emptying) placesIn(m objects.Module) *modulePlaces {
	p := &modulePlaces{emptying: l, module: m, begin: m.Name + ":"}
	file, _ := l.Text(l.Lookup(m.Dict, "__file__"), walk.MaxPath)
	p.users = strings.HasSuffix(file, ".py") && !isInstalled(file)
	if alias := l.imported[m.Name]; alias != "" {
		p.begin = alias + "."
	}
	return p
}

// isInstalled reports whether a file belongs to Python itself or to an installed package.
func isInstalled(file string) bool {
	for _, part := range []string{"/site-packages/", "/dist-packages/", "/lib/python3", "/lib64/python3"} {
		if strings.Contains(file, part) {
			return true
		}
	}
	return false
}

// addName adds what code can empty behind a name of the module. The name has been bound.
func (p *modulePlaces) addName(b objects.Binding) {
	t := p.ObjectType(b.Value)
	at, bound := p.byAddr[b.Value]
	if t == nil || !bound || p.groups[at].kind != event.HeldByModule {
		return
	}
	g := &p.groups[at]
	if g.release != nil {
		if g.how == event.ReleaseAttr {
			g.addExpression(p.begin + b.Name)
		}
		return
	}
	name := p.module.Name + "." + b.Name
	switch {
	case t.Name == objects.LruCache:
		p.empties(at, p.cacheOf(b.Value, t), event.ReleaseCache, p.begin+b.Name)
	case t.Shape == objects.ShapeType:
		hasFigures := strings.HasPrefix(figures, name+".")
		if (p.users || hasFigures) && p.isOfModule(b.Value, p.module.Name) {
			p.addAttributes(objects.Binding{Name: name, Value: b.Value}, event.HeldByModule, p.begin+b.Name+".")
		}
	case !p.users || t.Shape == objects.ShapeModule || t.Shape == objects.ShapeFunction:
	case containers[t.Name]:
		g.setRelease(event.ReleaseClear, p.begin+b.Name)
		if n, ok := p.Known(b.Value); ok {
			p.extents.empty(n, tailOf(at))
		}
	case len(g.names) == 1:
		g.setRelease(event.ReleaseAttr, p.begin+b.Name)
	}
}
