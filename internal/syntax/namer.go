package syntax

import "strings"

func (n *namer) stmts(stmts []Stmt) {
	for _, s := range stmts {
		n.stmt(s)
	}
}

// block returns a function that goes through a block, in which IPython shows no value.
func (n *namer) block(body []Stmt) func() {
	return func() {
		shown := n.shown
		n.shown = false
		n.stmts(body)
		n.shown = shown
	}
}

// stmt notes the names in a statement.
func (n *namer) stmt(node Stmt) {
	switch s := node.(type) {
	case *FunctionDef:
		n.define(s)
	case *ClassDef:
		n.class(s)
	case *Delete:
		for _, target := range s.Targets {
			n.target(target)
		}
		Bound(s, n.bind)
	case *Assign:
		n.assign(s)
	case *AugAssign:
		n.expr(s.Value, Use{How: Part})
		n.augmented(s)
	case *AnnAssign:
		n.expr(s.Annotation, Use{})
		n.expr(s.Value, Use{How: Kept})
		n.target(s.Target)
		Bound(s, n.bind)
	case *TypeAlias:
		Bound(s, n.bind)
		n.inScope(&scope{kind: compScope, parent: n.scope}, func() {
			n.typeParams(s.TypeParams)
			n.deferred(func() { n.expr(s.Value, Use{How: Kept}) })
		})
	case *Return:
		n.expr(s.Value, Use{How: Kept})
	case *Raise:
		n.expr(s.Exc, Use{How: Kept})
		n.expr(s.Cause, Use{How: Kept})
	case *Assert:
		n.expr(s.Test, Use{})
		n.expr(s.Msg, Use{How: Kept})
	case *Import:
		Bound(s, n.bind)
	case *ImportFrom:
		Bound(s, n.bind)
		if s.Names[0].Name == "*" {
			n.uses.BindsAny = true
		}
	case *ExprStmt:
		if n.shown && n.scope.kind == moduleScope && n.function == nil { // Out keeps the value
			n.expr(s.Value, Use{How: Kept})
		} else {
			n.expr(s.Value, Use{})
		}
	case *Magic:
		n.magic(s)
	default:
		n.compound(node)
	}
}

// compound notes the names in a compound statement that is no function or class.
func (n *namer) compound(node Stmt) {
	switch s := node.(type) {
	case *If:
		n.expr(s.Test, Use{})
		n.branch(n.block(s.Body), n.block(s.Else))
	case *For:
		n.expr(s.Iter, Use{How: Part})
		n.branch(func() {
			n.target(s.Target)
			Bound(s, n.bind)
			n.block(s.Body)()
		})
		n.branch(n.block(s.Else))
	case *While:
		n.expr(s.Test, Use{})
		n.branch(n.block(s.Body))
		n.branch(n.block(s.Else))
	case *With:
		for _, item := range s.Items {
			if item.Vars == nil {
				n.expr(item.Context, Use{})
				continue
			}
			n.expr(item.Context, Use{How: Kept})
			n.target(item.Vars)
			Bound(item, n.bind)
		}
		if suppresses(s) {
			n.branch(n.block(s.Body))
		} else {
			n.block(s.Body)()
		}
	case *Match:
		n.expr(s.Subject, Use{How: Kept})
		for _, c := range s.Cases {
			n.branch(func() { n.matchCase(c) })
		}
	case *Try:
		n.try(s)
	}
}

// suppresses reports whether a with may suppress an exception, so that its block may end early.
func suppresses(s *With) bool {
	for _, item := range s.Items {
		if call, ok := item.Context.(*Call); ok {
			_, last := calleeOf(call.Func)
			if last == "suppress" || last == "raises" || strings.HasPrefix(last, "assert") {
				return true
			}
		}
	}
	return false
}

func (n *namer) matchCase(c *MatchCase) {
	for _, use := range c.Uses {
		n.expr(use, Use{})
	}
	Bound(c, n.bind)
	n.expr(c.Guard, Use{})
	n.block(c.Body)()
}

func (n *namer) try(s *Try) {
	if len(s.Handlers) == 0 {
		n.block(s.Body)()
		n.block(s.Finally)()
		return
	}
	n.branch(func() {
		n.block(s.Body)()
		n.block(s.Else)()
	})
	for _, h := range s.Handlers {
		n.branch(func() {
			n.expr(h.Type, Use{})
			Bound(h, n.bind)
			n.block(h.Body)()
		})
	}
	n.block(s.Finally)()
}

// assign notes the names in an assignment. A lambda that the module assigns to a name is a function of that name, too.
func (n *namer) assign(s *Assign) {
	if f, ok := s.Value.(*Lambda); ok && n.function == nil && n.scope.kind == moduleScope {
		if name, ok := s.Targets[0].(*Name); ok {
			n.function = n.uses.Functions.function(name.ID)
			n.lambda(f)
			n.function = nil
		}
	}
	n.expr(s.Value, Use{How: Kept})
	for _, target := range s.Targets {
		n.target(target)
	}
	Bound(s, n.bind)
}

func (n *namer) augmented(s *AugAssign) {
	if name, ok := s.Target.(*Name); ok {
		n.read(name.ID, Use{Changed: true})
	}
	n.target(s.Target)
	Bound(s, n.bind)
}

// Names returns what statements do with the names of a module when they run at the top of the module. It errs only on
// the safe side: a name that it does not list as read is not read, unless Dynamic says that any name may be.
func Names(stmts ...Stmt) *Uses {
	u := &Uses{Functions: Functions{}}
	n := &namer{uses: u, scope: &scope{kind: moduleScope}, shown: true}
	for i, s := range stmts {
		n.stmt(s)
		if m, ok := s.(*Magic); ok && cellName(m.Text) == "timeit" {
			n.timed(stmts[i+1:])
			break
		}
	}
	return u
}

// define goes through a function: first the decorators, defaults and annotations, which run now, then the body, which
// runs when the function is called.
func (n *namer) define(f *FunctionDef) {
	n.exprs(f.Decorators, Use{})
	n.exprs(defaults(f.Args), Use{How: Kept})
	outer := &scope{kind: compScope, parent: n.scope}
	n.inScope(outer, func() {
		n.typeParams(f.TypeParams)
		for _, arg := range f.Args.All() {
			n.expr(arg.Annotation, Use{})
		}
		n.expr(f.Returns, Use{})
	})
	body := make([]Node, len(f.Body))
	for i, s := range f.Body {
		body[i] = s
	}
	in := functionOf(n.scope, f.Args, body...)
	for name := range outer.locals {
		if !in.globals[name] {
			in.bind(name)
		}
	}
	loose := len(f.Decorators) > 0 || n.scope.kind == classScope
	n.functionBody(f.Name, loose, func() {
		n.inScope(in, func() { n.stmts(f.Body) })
	})
	Bound(f, n.bind)
}

// functionBody goes through the body of a function, and notes what it does under the function's name, or under the name
// of the module's class that it belongs to. A function in another function is a part of the outer one.
func (n *namer) functionBody(name string, loose bool, body func()) {
	outer, later, branches := n.function, n.later, n.branches
	if outer == nil {
		if n.owner != "" {
			name = n.owner
		}
		n.function = n.uses.Functions.function(name)
		n.function.Loose = n.function.Loose || loose
	}
	n.later = false
	body()
	n.function, n.later, n.branches = outer, later, branches
}

// class goes through a class. Its body runs now, its methods run when they are called.
func (n *namer) class(c *ClassDef) {
	n.exprs(c.Decorators, Use{})
	outer := &scope{kind: compScope, parent: n.scope}
	owner := n.owner
	if owner == "" {
		n.owner = c.Name
	}
	n.inScope(outer, func() {
		n.typeParams(c.TypeParams)
		n.exprs(c.Bases, Use{})
		for _, keyword := range c.Keywords {
			n.expr(keyword.Value, Use{})
		}
		in := &scope{kind: classScope, parent: n.scope, globals: map[string]bool{}}
		for _, s := range c.Body {
			if global, ok := s.(*Global); ok {
				for _, name := range global.Names {
					in.globals[name] = true
				}
			}
		}
		n.inScope(in, func() { n.stmts(c.Body) })
	})
	n.owner = owner
	Bound(c, n.bind)
}

// magic notes the names in a magic: those in its Python, and each word in front of that.
func (n *namer) magic(m *Magic) {
	name, ofCell := magicName(m.Text)
	codeAt := len(m.Text)
	if m.Body != nil {
		codeAt = min(codeAt, m.Body[0].Place().Start.Offset-m.Start.Offset)
	}
	options := m.Text[:codeAt]
	switch {
	case name == "":
	case ofCell && name == "capture":
		captured(m, n)
		return
	case ofCell && pythonCells[name], !ofCell && calmLines[name]:
	case ofCell && foreignCells[name]:
		if strings.Contains(options, "--out") || strings.Contains(options, "--err") {
			n.uses.BindsAny = true
		}
	default:
		n.noteDynamic(true)
	}
	n.readWords(options)
	if name == "timeit" {
		n.timed(m.Body)
	} else {
		n.stmts(m.Body)
	}
}

// captured binds the name that %%capture gives to the output.
func captured(m *Magic, n *namer) {
	for _, word := range strings.Fields(m.Text)[1:] {
		if wordLength(word) == len(word) {
			n.bind(word, Magical)
		}
	}
}

// timed goes through statements that %timeit runs now, as the body of a function: the names that they bind are local.
func (n *namer) timed(body []Stmt) {
	nodes := make([]Node, len(body))
	for i, s := range body {
		nodes[i] = s
	}
	n.inScope(functionOf(n.scope, nil, nodes...), func() { n.stmts(body) })
}
