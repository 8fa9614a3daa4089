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
	globals map[string]bool // declared global
}

// ofModule reports whether a name that is read here is one of the module.
func (s *scope) ofModule(name string) bool {
	for at := s; at.kind != moduleScope; at = at.parent {
		if at.globals[name] {
			return true
		}
		// The names of a class are not those of its functions.
		if at.locals[name] && (at.kind != classScope || at == s) {
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

func (s *scope) bind(name string) {
	if s.locals == nil {
		s.locals = map[string]bool{}
	}
	s.locals[name] = true
}

// functionOf returns the scope of a function: all names that its body binds are local to it, wherever they stand.
func functionOf(parent *scope, args *Arguments, body ...Node) *scope {
	s := &scope{kind: functionScope, parent: parent, locals: map[string]bool{}, globals: map[string]bool{}}
	if args != nil {
		for _, one := range args.All() {
			s.locals[one.Name] = true
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

// collect notes the names that a node of a function's body binds, and reports whether those below it are the function's
// as well.
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
		all := slices.Concat(n.Decorators, n.Bases)
		for _, keyword := range n.Keywords {
			all = append(all, keyword.Value)
		}
		return s.collectOnly(outer, all)
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

func (s *scope) collectOnly(outer map[string]bool, exprs []Expr) bool {
	for _, one := range exprs {
		Walk(one, func(node Node) bool { return s.collect(node, outer) })
	}
	return false
}

func defaults(args *Arguments) []Expr {
	var all []Expr
	for _, one := range args.All() {
		if one.Default != nil {
			all = append(all, one.Default)
		}
	}
	return all
}

// Bound hands on the names that a node itself binds, not those that nodes below it bind.
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
		for _, one := range n.Names {
			each(imported(one), Imported)
		}
	case *ImportFrom:
		for _, one := range n.Names {
			if one.Name != "*" {
				each(imported(one), Imported)
			}
		}
	}
}

// imported returns the name that an import binds: of a.b it is a.
func imported(one *Alias) string {
	if one.AsName != "" {
		return one.AsName
	}
	first, _, _ := strings.Cut(one.Name, ".")
	return first
}

// Modules hands on the names that an import binds, and the full name of the module, or of what it has, that each stands
// for: `import a.b` binds a to a, `from a import b as c` binds c to a.b.
func Modules(n Node, each func(name, full string)) {
	switch n := n.(type) {
	case *Import:
		for _, one := range n.Names {
			full := one.Name
			if one.AsName == "" {
				full = imported(one)
			}
			each(imported(one), full)
		}
	case *ImportFrom:
		for _, one := range n.Names {
			each(imported(one), n.Module+"."+one.Name)
		}
	}
}

// targetNames hands on the names in a target.
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
	function *Function // whose body this is; nil for what runs now
	later    bool      // in a lambda or a generator
	branches int       // how many parts of the source this is in that may not run
	shown    bool      // IPython shows the value of an expression that stands here
	owner    string    // the class of the module whose body this is
}

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

func (n *namer) bind(name string, kind BindKind) {
	in := n.scope.binder()
	if in.kind == classScope && !in.globals[name] {
		in.bind(name)
		return
	}
	if in.kind != moduleScope && !in.globals[name] {
		return
	}
	bind := Bind{Name: name, Kind: kind}
	if in.kind != moduleScope {
		bind.Kind = Declared
	}
	if n.function != nil {
		n.function.Binds = append(n.function.Binds, bind)
		return
	}
	bind.Sure = n.branches == 0 && !n.later
	n.uses.Binds = append(n.uses.Binds, bind)
}

// branch goes through statements of which one part runs: no part binds a name for sure.
func (n *namer) branch(parts ...func()) {
	n.branches++
	for _, part := range parts {
		part()
	}
	n.branches--
}

func (n *namer) dynamic(binds bool) {
	if n.function == nil {
		n.uses.Dynamic = true
	}
	if binds {
		n.uses.BindsAny = true
	}
}

// inner goes through something in a scope of its own.
func (n *namer) inner(in *scope, what func()) {
	outer, shown := n.scope, n.shown
	n.scope, n.shown = in, false
	what()
	n.scope, n.shown = outer, shown
}

// deferred goes through something that runs later, or never.
func (n *namer) deferred(what func()) {
	later := n.later
	n.later = true
	what()
	n.later = later
}
