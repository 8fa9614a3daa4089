package syntax

import (
	"slices"
	"strings"
)

type scopeKind uint8

const (
	moduleScope scopeKind = iota
	functionScope
	classScope
	compScope
)

// scope is a part of the source with names of its own.
type scope struct {
	kind    scopeKind
	parent  *scope
	locals  map[string]bool
	globals map[string]bool // names declared global
}

// ofModule reports whether a name that is read in the scope is a name of the module.
func (s *scope) ofModule(name string) bool {
	for at := s; at.kind != moduleScope; at = at.parent {
		if at.globals[name] {
			return true
		}
		isSeen := at.kind != classScope || at == s // the methods of a class do not see the class's names
		if at.locals[name] && isSeen {
			return false
		}
	}
	return true
}

// binder returns the scope in which := binds a name.
func (s *scope) binder() *scope {
	for s.kind == compScope {
		s = s.parent
	}
	return s
}

// bind adds a local name.
func (s *scope) bind(name string) {
	if s.locals == nil {
		s.locals = map[string]bool{}
	}
	s.locals[name] = true
}

// functionOf returns the scope of a function. All names that the body binds anywhere are local, except those declared
// global or nonlocal. args may be nil.
func functionOf(parent *scope, args *Arguments, body ...Node) *scope {
	s := &scope{kind: functionScope, parent: parent, locals: map[string]bool{}, globals: map[string]bool{}}
	if args != nil {
		for _, arg := range args.All() {
			s.locals[arg.Name] = true
		}
	}
	outer := map[string]bool{}
	for _, node := range body {
		Walk(node, func(node Node) bool { return s.collect(node, outer) })
	}
	for name := range s.globals {
		delete(s.locals, name)
	}
	for name := range outer {
		delete(s.locals, name)
	}
	return s
}

// collect notes the names that a node of a function's body binds, and in outer the names declared nonlocal. It reports
// whether the nodes below the node are to be visited: the body of an inner function has names of its own.
func (s *scope) collect(node Node, outer map[string]bool) bool {
	switch n := node.(type) {
	case *Global:
		for _, name := range n.Names {
			s.globals[name] = true
		}
	case *Nonlocal:
		for _, name := range n.Names {
			outer[name] = true
		}
	case *FunctionDef:
		s.bind(n.Name)
		return s.collectOnly(outer, slices.Concat(n.Decorators, defaults(n.Args)))
	case *ClassDef:
		s.bind(n.Name)
		exprs := slices.Concat(n.Decorators, n.Bases)
		for _, keyword := range n.Keywords {
			exprs = append(exprs, keyword.Value)
		}
		return s.collectOnly(outer, exprs)
	case *AnnAssign:
		if n.Value != nil || n.Target.Place().Start == n.Start { // (x): int does not make x local
			targetNames(n.Target, Assigned, func(name string, _ BindKind) { s.bind(name) })
		}
	case *Lambda:
		return s.collectOnly(outer, defaults(n.Args))
	case *Module, Stmt, *MatchCase, *ExceptHandler, *WithItem, *NamedExpr:
		Bound(node, func(name string, _ BindKind) { s.bind(name) })
	}
	return true
}

// collectOnly does what collect does, for the expressions of a node that belong to the function. It returns false, for
// collect to return.
func (s *scope) collectOnly(outer map[string]bool, exprs []Expr) bool {
	for _, e := range exprs {
		Walk(e, func(node Node) bool { return s.collect(node, outer) })
	}
	return false
}

// defaults returns the default values of parameters.
func defaults(args *Arguments) []Expr {
	var values []Expr
	for _, arg := range args.All() {
		if arg.Default != nil {
			values = append(values, arg.Default)
		}
	}
	return values
}

// Bound calls each with the names that a node itself binds, without the names that nodes below it bind.
func Bound(node Node, each func(name string, kind BindKind)) {
	switch n := node.(type) {
	case *FunctionDef:
		each(n.Name, Defined)
	case *ClassDef:
		each(n.Name, Classed)
	case *Assign:
		for _, target := range n.Targets {
			targetNames(target, Assigned, each)
		}
	case *AugAssign:
		targetNames(n.Target, Augmented, each)
	case *AnnAssign:
		if n.Value != nil {
			targetNames(n.Target, Assigned, each)
		}
	case *TypeAlias:
		targetNames(n.Name, Assigned, each)
	case *For:
		targetNames(n.Target, Looped, each)
	case *WithItem:
		if n.Vars != nil {
			targetNames(n.Vars, Entered, each)
		}
	case *Delete:
		for _, target := range n.Targets {
			targetNames(target, Unbound, each)
		}
	case *NamedExpr:
		targetNames(n.Target, Walrus, each)
	case *ExceptHandler:
		if n.Name != "" {
			each(n.Name, Excepted)
		}
	case *MatchCase:
		for _, name := range n.Binds {
			each(name, Matched)
		}
	case *Import:
		for _, alias := range n.Names {
			each(imported(alias), Imported)
		}
	case *ImportFrom:
		for _, alias := range n.Names {
			if alias.Name != "*" {
				each(imported(alias), Imported)
			}
		}
	}
}

// imported returns the name that an import binds: a for `import a.b`.
func imported(alias *Alias) string {
	if alias.AsName != "" {
		return alias.AsName
	}
	first, _, _ := strings.Cut(alias.Name, ".")
	return first
}

// Modules calls each with the names that an import binds, and the full name of what each is bound to: `import a.b`
// binds a to a, `from a import b as c` binds c to a.b.
func Modules(n Node, each func(name, full string)) {
	switch n := n.(type) {
	case *Import:
		for _, alias := range n.Names {
			full := alias.Name
			if alias.AsName == "" {
				full = imported(alias)
			}
			each(imported(alias), full)
		}
	case *ImportFrom:
		for _, alias := range n.Names {
			each(imported(alias), n.Module+"."+alias.Name)
		}
	}
}

// targetNames calls each with the names that an assignment to a target binds.
func targetNames(target Expr, kind BindKind, each func(name string, kind BindKind)) {
	switch t := target.(type) {
	case *Name:
		each(t.ID, kind)
	case *Starred:
		targetNames(t.Value, kind, each)
	case *Tuple:
		for _, elt := range t.Elts {
			targetNames(elt, kind, each)
		}
	case *List:
		for _, elt := range t.Elts {
			targetNames(elt, kind, each)
		}
	}
}

// namer goes through statements in the order in which they run, and notes the names of the module.
type namer struct {
	uses     *Uses
	scope    *scope
	function *Function // the function whose body is gone through; nil for code that runs now
	later    bool      // the code is in a lambda or a generator
	branches int       // how many parts of the source that may not run are around the code
	shown    bool      // IPython shows the value of an expression statement here
	owner    string    // the module's class whose body is gone through, "" for none
}

// read notes that a name is read, if it is a name of the module.
func (n *namer) read(name string, use Use) {
	if !n.scope.ofModule(name) {
		return
	}
	use.Name, use.Later = name, n.later
	use.Aliased = use.How != Used
	if n.function != nil {
		n.function.Reads = append(n.function.Reads, use)
		return
	}
	n.uses.Reads = append(n.uses.Reads, use)
}

// bind notes that a name is bound, if it is a name of the module. A name of a class becomes local to the class here;
// the names of a function are local already.
func (n *namer) bind(name string, kind BindKind) {
	scope := n.scope.binder()
	isModules := scope.kind == moduleScope || scope.globals[name]
	if !isModules {
		if scope.kind == classScope {
			scope.bind(name)
		}
		return
	}
	bind := Bind{Name: name, Kind: kind}
	if scope.kind != moduleScope {
		bind.Kind = Declared
	}
	if n.function != nil {
		n.function.Binds = append(n.function.Binds, bind)
		return
	}
	bind.Sure = n.branches == 0 && !n.later
	n.uses.Binds = append(n.uses.Binds, bind)
}

// branch goes through parts of which at most one runs, so that no part binds a name for sure.
func (n *namer) branch(parts ...func()) {
	n.branches++
	for _, part := range parts {
		part()
	}
	n.branches--
}

// noteDynamic notes that any name may be read and, with binds, bound.
func (n *namer) noteDynamic(binds bool) {
	if n.function == nil {
		n.uses.Dynamic = true
	}
	if binds {
		n.uses.BindsAny = true
	}
}

// inScope calls visit, which goes through code in an inner scope.
func (n *namer) inScope(in *scope, visit func()) {
	outer, shown := n.scope, n.shown
	n.scope, n.shown = in, false
	visit()
	n.scope, n.shown = outer, shown
}

// deferred calls visit, which goes through code that runs later, or never.
func (n *namer) deferred(visit func()) {
	later := n.later
	n.later = true
	visit()
	n.later = later
}
