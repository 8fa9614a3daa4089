package holders

import (
	"slices"
	"strings"

	"ipytracer/event"
	"ipytracer/internal/python/holders/contents"
	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/walk"
)

// maxGroups bounds the objects with names.
var maxGroups = 1 << 20

// group has the names of one object, or of objects that belong together.
type group struct {
	names    []string
	addr     uint64 // the object; 0 for several
	kind     event.HolderKind
	targets  []int32 // the nodes of the objects
	place    bool    // the names are attributes, listed only if they hold much
	*release         // nil for most groups: nobody lets go of modules
}

// lister walks over everything that has a name.
type lister struct {
	*walk.Walker
	extents *extents
	groups  []group
	byAddr  map[uint64]int // the group of an object
	late    []lateBinding
	loose   int            // the first node to which no name led
	unmet   uint64         // bytes of objects without nodes, which something else holds
	give    func()         // gives the notes back
	viewed  map[int32]Held // by node that leads to views: memory that only these views hold
	failed  []event.Code   // the code of the calls in the last traceback
	// imported has the names of modules in the notebook, by the modules' own names.
	imported map[string]string

	inspector *contents.Inspector // nil where elements of arrays are not asked for
}

// lateBinding is a reference of a group to an object that leads out of the objects that names hold, such as a module.
// It is followed after all others.
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

// bind notes that a name refers to an object. It returns the group of the object, nil if the name is not listed.
func (l *lister) bind(name string, addr uint64, kind event.HolderKind) *group {
	t := l.ObjectType(addr)
	if t == nil || l.Stopped != nil {
		return nil
	}
	if len(l.groups) >= maxGroups { // a namespace may have millions of names for objects that have no node
		l.Stopped = objects.ErrObjects
		return nil
	}
	if g, known := l.byAddr[addr]; known && kind == event.HeldByModule && l.groups[g].kind != event.HeldByModule {
		l.Follow(nobody, addr, walk.Label{}) // something beside a name of the user's holds the object
		return nil
	}
	g := l.groupOf(addr, kind)
	if names := l.groups[g].names; name != "" && len(names) <= objects.MaxAlso && !slices.Contains(names, name) {
		l.groups[g].names = append(names, name)
	}
	l.hold(g, addr)
	return &l.groups[g]
}

// hold notes that a group refers to an object, and follows the reference.
func (l *lister) hold(g int, addr uint64) {
	t := l.ObjectType(addr)
	if t == nil {
		return
	}
	if _, known := l.Known(addr); !known && l.Deferring && l.LeadsOut(addr, t) {
		l.late = append(l.late, lateBinding{g, addr})
		return
	}
	l.extents.group = tailOf(g)
	l.Follow(nobody, addr, walk.Label{})
	l.extents.group = nobody
	if n, ok := l.Known(addr); ok && !slices.Contains(l.groups[g].targets, n) {
		l.groups[g].targets = append(l.groups[g].targets, n)
	}
}

// release has the steps that are needed to let go of a group.
type release struct {
	expressions     []string // names in __main__, except those of IPython's outputs
	moreExpressions bool     // there are more than expressions has
	outputName      string   // a name that IPython gave in __main__
	inHistory       bool     // IPython has the object besides
	lastResult      bool     // the object is the last cell's result
	barred          bool     // something has the object from which no code here removes it
	how             event.Release
	tool            event.Tool
}

// toRelease returns the steps to let go of a group, for the caller to fill in. For a nil group it returns steps that
// nobody reads, so that methods of a nil group do nothing.
func (g *group) toRelease() *release {
	if g == nil {
		return &release{}
	}
	if g.release == nil {
		g.release = &release{}
	}
	return g.release
}

// addName notes a name of the user's.
func (g *group) addName(name string) {
	if let := g.toRelease(); len(let.expressions) == objects.MaxAlso {
		let.moreExpressions = true
	} else {
		let.expressions = append(let.expressions, name)
	}
}

// addOutput notes a name that IPython has given in the user's namespace. It prefers a name that lasts: _2 to __, and __
// to _.
func (g *group) addOutput(name string) {
	let := g.toRelease()
	let.inHistory = true
	isShortLived := strings.HasSuffix(let.outputName, "_")
	if let.outputName == "" || isShortLived && len(name) > 1 {
		let.outputName = name
	}
}

func (g *group) markInHistory() { g.toRelease().inHistory = true }

// isOwner reports whether code can let go of a group.
func (g *group) isOwner() bool {
	switch g.kind {
	case event.HeldByVariable, event.HeldByOutput, event.HeldByTraceback:
		return true
	}
	return g.release != nil && g.how != event.ReleaseNames
}

// listedRow is a group on its way into the listing.
type listedRow struct {
	event.Variable
	group  int
	mapped uint64 // bytes of the memory maps that the group leads to
}

// size returns the bytes by which a row is ranked: the larger of those that are freed with it and those that it leads
// to.
func (r *listedRow) size() event.Bytes { return max(r.Bytes, r.Reaches) + r.Device }

// setRelease notes how code lets go of a group other than by deleting its names, and the expression for it.
func (g *group) setRelease(how event.Release, expression string) {
	let := g.toRelease()
	let.how, let.expressions, let.moreExpressions = how, []string{expression}, false
}

// addExpression adds an expression for the same object.
func (let *release) addExpression(expression string) {
	if len(let.expressions) < objects.MaxAlso {
		let.expressions = append(let.expressions, expression)
	} else {
		let.barred = true
	}
}
