package syntax

import "strings"

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

func (n *namer) read(name string, at Span, use Use) {
	if !n.scope.ofModule(name) {
		return
	}
	use.Span, use.Name, use.Later = at, name, n.later
	use.Aliased = use.How != Used
	if n.function != nil {
		n.function.Reads = append(n.function.Reads, use)
		return
	}
	n.uses.Reads = append(n.uses.Reads, use)
}

func (n *namer) bind(name string, at Span, kind BindKind) {
	in := n.scope.binder()
	if in.kind == classScope && !in.globals[name] {
		in.bind(name)
		return
	}
	if in.kind != moduleScope && !in.globals[name] {
		return
	}
	bind := Bind{Span: at, Name: name, Kind: kind}
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

func (n *namer) stmts(all []Stmt) {
	for _, s := range all {
		n.stmt(s)
	}
}

// branch goes through statements of which one part runs: no part binds a name for sure.
func (n *namer) branch(parts ...func()) {
	n.branches++
	for _, part := range parts {
		part()
	}
	n.branches--
}

// block goes through a block that may not run.
func (n *namer) block(body []Stmt) func() {
	return func() {
		shown := n.shown
		n.shown = false
		n.stmts(body)
		n.shown = shown
	}
}

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
		bound(s, n.bind)
	case *Assign:
		n.assign(s)
	case *AugAssign:
		n.expr(s.Value, Use{How: Part})
		n.augmented(s)
	case *AnnAssign:
		n.expr(s.Annotation, Use{})
		n.expr(s.Value, Use{How: Kept})
		n.target(s.Target)
		bound(s, n.bind)
	case *TypeAlias:
		bound(s, n.bind)
		n.inner(&scope{kind: compScope, parent: n.scope}, func() {
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
		bound(s, n.bind)
	case *ImportFrom:
		bound(s, n.bind)
		if s.Names[0].Name == "*" {
			n.uses.BindsAny = true
		}
	case *ExprStmt:
		if n.shown && n.scope.kind == moduleScope && n.function == nil {
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

func (n *namer) compound(node Stmt) {
	switch s := node.(type) {
	case *If:
		n.expr(s.Test, Use{})
		n.branch(n.block(s.Body), n.block(s.Else))
	case *For:
		n.expr(s.Iter, Use{How: Part})
		n.branch(func() {
			n.target(s.Target)
			bound(s, n.bind)
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
			bound(item, n.bind)
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

// suppresses reports whether the block of a with may end early, and the statements behind it run all the same.
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
	bound(c, n.bind)
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
			bound(h, n.bind)
			n.block(h.Body)()
		})
	}
	n.block(s.Finally)()
}

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
	bound(s, n.bind)
}

func (n *namer) augmented(s *AugAssign) {
	if name, ok := s.Target.(*Name); ok {
		n.read(name.ID, name.Span, Use{Changed: true})
	}
	n.target(s.Target)
	bound(s, n.bind)
}

// target notes what a target reads: x and i of x[i].
func (n *namer) target(target Expr) {
	switch t := target.(type) {
	case *Starred:
		n.target(t.Value)
	case *Tuple:
		for _, elt := range t.Elts {
			n.target(elt)
		}
	case *List:
		for _, elt := range t.Elts {
			n.target(elt)
		}
	case *Attribute:
		n.expr(t.Value, Use{Changed: true})
	case *Subscript:
		n.expr(t.Value, Use{Changed: true})
		n.expr(t.Slice, Use{})
	}
}
