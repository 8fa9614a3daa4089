// Package variables lists the objects of a Python by name: how much memory goes with each name, how much each leads to,
// and which sets of names hold memory together.
package variables

import (
	"slices"

	"ipytracer/event"
	"ipytracer/internal/python/holders/contents"
	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/paths"
	"ipytracer/internal/python/holders/views"
	"ipytracer/internal/python/holders/walk"
)

// Listing has a Python's objects, by name.
type Listing struct {
	Names    []event.Variable // those that hold or reach most first; their texts are hostile, and may be no UTF-8
	Owners   []event.Owner    // see [event.Variables]; likewise
	Shares   []event.Share
	Still    []bool // for each piece that was asked for
	Unlisted int    // names that are not in it, and the bytes that would go with these
	Rest     event.Bytes
	Total    event.Bytes // bytes of all objects that were reached
	Objects  int
	Read     int64   // bytes
	Complete bool    // false where a limit was hit: all bytes are then the least
	Places   *Places // of the shares' blocks; nil where none has 1 MiB
}

// Bounds of a listing.
const (
	maxListed   = 1000
	leastModule = 256 << 10 // bytes of objects that only a module, a traceback or a frame has, to be listed
	maxVisited  = 1 << 23   // objects visited for Reaches, of all names
)

// MaxGroups bounds the objects with names.
var MaxGroups = 1 << 20

// List returns the objects by name. It calls give once it does not need the notes any more.
func List(w *walk.Walker, give func()) Listing {
	e := NewExtents(w)
	w.VisitFor(e)
	w.Reserve(w.Notes.Containers + w.Notes.Shared)
	e.reserve(w.Notes.Containers + w.Notes.Shared)
	defer e.free()
	l := &lister{Walker: w, extents: e, byAddr: map[uint64]int{}, give: give}
	still := stillThere(w, w.Limits.Watch)
	l.walk()
	l.viewed = views.ByRoot(w, paths.NewWriter(w, nil))
	if w.Limits.Contents {
		l.inspector = contents.NewInspector(&l.Sizer, &objects.ResidentMemory{Memory: w.Mem.Source,
			FilePages: w.Mem.Files})
	}
	out := l.listing(w.Limits.Time / 4)
	out.Still = still
	return out
}

// group is the names of one object, or of objects that belong together.
type group struct {
	names    []string
	addr     uint64 // of the object; 0 for several
	kind     event.HolderKind
	targets  []int32
	place    bool // its names are attributes, listed only where they hold much
	*release      // nil for most: nobody lets go of modules
}

// lister is a walk over everything that has a name.
type lister struct {
	*walk.Walker
	extents *Extents
	groups  []group
	byAddr  map[uint64]int
	late    []lateBinding
	loose   int                  // the first node that no name led to
	unmet   uint64               // bytes of objects that something else holds, which have no nodes
	give    func()               // the notes back
	viewed  map[int32]views.Held // memory that only views hold, by the objects that lead to them
	failed  []event.Code         // where the code of the last traceback is from
	// imported has the names that modules have in the notebook, by the modules' own.
	imported map[string]string

	inspector *contents.Inspector // nil where elements of arrays are not asked for
}

// lateBinding is a name of an object that leads out of the objects that names hold: it is looked at when everything
// else was.
type lateBinding struct {
	group int
	addr  uint64
}

// groupOf finds the group of an object, or makes one.
func (l *lister) groupOf(addr uint64, kind event.HolderKind) int {
	if g, ok := l.byAddr[addr]; ok {
		return g
	}
	l.groups = append(l.groups, group{addr: addr, kind: kind})
	l.byAddr[addr] = len(l.groups) - 1
	return len(l.groups) - 1
}

// bind has a name refer to an object. It returns their group, nil where there is none.
func (l *lister) bind(name string, addr uint64, kind event.HolderKind) *group {
	t := l.ObjectType(addr)
	if t == nil || l.Stopped != nil {
		return nil
	}
	if len(l.groups) >= MaxGroups { // a namespace may have millions of names of objects without a node
		l.Stopped = objects.ErrObjects
		return nil
	}
	if g, known := l.byAddr[addr]; known && kind == event.HeldByModule && l.groups[g].kind != event.HeldByModule {
		l.Follow(Nobody, addr, walk.Label{}) // a name of the user's is not all that holds it
		return nil
	}
	g := l.groupOf(addr, kind)
	if all := &l.groups[g].names; name != "" && len(*all) <= objects.MaxAlso && !slices.Contains(*all, name) {
		*all = append(*all, name)
	}
	l.hold(g, addr)
	return &l.groups[g]
}

// hold has a group refer to an object.
func (l *lister) hold(g int, addr uint64) {
	t := l.ObjectType(addr)
	if t == nil {
		return
	}
	if _, known := l.Known(addr); !known && l.Deferring && l.LeadsOut(addr, t) {
		l.late = append(l.late, lateBinding{g, addr})
		return
	}
	l.extents.group = int32(-2 - g)
	l.Follow(Nobody, addr, walk.Label{})
	l.extents.group = Nobody
	if n, ok := l.Known(addr); ok && !slices.Contains(l.groups[g].targets, n) {
		l.groups[g].targets = append(l.groups[g].targets, n)
	}
}

// walk follows all names: the user's first.
func (l *lister) walk() {
	w := l.Walker
	modules := w.Modules()
	for _, m := range modules {
		w.Spaces[m.Dict] = true
	}
	for _, m := range modules { // their names are roots of their own
		if m.Dict != 0 && w.Part(Nobody, m.Dict) {
			w.Part(Nobody, m.Addr)
		}
	}
	main, sys, builtins := w.ModuleDict(modules, "__main__"), w.ModuleDict(modules, "sys"),
		w.ModuleDict(modules, "builtins")
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
		return m.Name == "__main__" || m.Dict == main && main != 0 // __mp_main__ is another name of it
	}))
	w.Flush()
	for _, b := range l.late {
		l.hold(b.group, b.addr)
	}
	w.Run()
	w.FollowDoubts()
	l.others(modules)
}

// closures looks into functions of modules that have names of the user's: they may have made their closures for him.
func (l *lister) closures() {
	l.Kind = walk.KindVariable
	rest := l.late[:0]
	for _, b := range l.late {
		if !l.IsShape(b.addr, objects.ShapeFunction) {
			rest = append(rest, b)
			continue
		}
		l.Deferring = false // but for this one
		l.hold(b.group, b.addr)
		l.Deferring = true
		l.Run()
	}
	l.late = rest
}

// shellApart keeps the listing from looking into the objects of IPython's shell by itself.
func (l *lister) shellApart() {
	s := &l.Shell
	for _, addr := range append([]uint64{s.Out, s.Hidden, s.Hook, s.Result}, s.Shown...) {
		if l.ObjectType(addr) != nil {
			l.Part(Nobody, addr)
		}
	}
}
