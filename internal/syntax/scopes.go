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
			targetNames(n.Target, Assigned, func(name string, _ Span, _ BindKind) { s.bind(name) })
		}
	case *Lambda:
		return s.collectOnly(outer, defaults(n.Args))
	case *Module, Stmt, *MatchCase, *ExceptHandler, *WithItem, *NamedExpr:
		bound(node, func(name string, _ Span, _ BindKind) { s.bind(name) })
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

// bound hands on the names that a node itself binds, not those that nodes below it bind.
func bound(node Node, each func(name string, at Span, kind BindKind)) {
	switch n := node.(type) {
	case *FunctionDef:
		each(n.Name, n.Span, Defined)
	case *ClassDef:
		each(n.Name, n.Span, Classed)
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
			each(n.Name, n.Span, Excepted)
		}
	case *MatchCase:
		for _, name := range n.Binds {
			each(name, n.Span, Matched)
		}
	case *Import:
		for _, one := range n.Names {
			each(imported(one), one.Span, Imported)
		}
	case *ImportFrom:
		for _, one := range n.Names {
			if one.Name != "*" {
				each(imported(one), one.Span, Imported)
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
func targetNames(target Expr, kind BindKind, each func(name string, at Span, kind BindKind)) {
	switch t := target.(type) {
	case *Name:
		each(t.ID, t.Span, kind)
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
