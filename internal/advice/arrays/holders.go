package arrays

import (
	"strings"

	"ipytracer/internal/advice/notebook"
	"ipytracer/internal/syntax"
)

// onlyIn reports whether nothing but a name can hold the array that it is bound to at a place: the array is fresh, and
// no statement from then on, up to the run of another one, makes a second reference or a view that stays.
func (s *values) onlyIn(name string, p at, until *notebook.Statement) bool {
	b, ok := s.before(name, p.order, p.offset)
	if !ok || s.shared[name] || !s.of(b.value, at{order: b.order, offset: b.at}).fresh {
		return false
	}
	for _, st := range s.n.Statements {
		if !s.step() {
			return false
		}
		inside := st.Order >= b.order && st.Order <= until.Order
		if st.Node == nil {
			if inside && strings.Contains(st.Source(), name) {
				return false
			}
			continue
		}
		if !s.keepsOnlyIn(st, name, inside, b) {
			return false
		}
	}
	return true
}

// keepsOnlyIn looks at a run of a statement: all of it, or at the functions in it only, because these may run later.
func (s *values) keepsOnlyIn(st *notebook.Statement, name string, inside bool, b bind) bool {
	h := holding{values: s, name: name}
	if !inside {
		s.walk(st.Node, func(node syntax.Node) bool {
			switch x := node.(type) {
			case *syntax.FunctionDef:
				if !s.isLocal(x.Args, x.Body, name) {
					h.statements(x.Body)
				}
				return false
			case *syntax.Lambda:
				h.expr(x.Body)
				return false
			}
			return true
		})
		return !h.escapes
	}
	if a, ok := st.Node.(*syntax.Assign); ok && st.Order == b.order && a.Value == b.value && len(a.Targets) > 1 {
		return false // x = y = …
	}
	h.statement(st.Node)
	return !h.escapes
}

// isLocal reports whether a function has a name of its own that hides the one outside.
func (s *scene) isLocal(args *syntax.Arguments, body []syntax.Stmt, name string) bool {
	for _, list := range [][]*syntax.Arg{args.PosOnly, args.Args, args.KwOnly} {
		for _, a := range list {
			if a.Name == name {
				return true
			}
		}
	}
	local := false
	for _, st := range body {
		s.walk(st, func(node syntax.Node) bool {
			switch x := node.(type) {
			case *syntax.Assign:
				for _, t := range x.Targets {
					if n, ok := t.(*syntax.Name); ok && n.ID == name {
						local = true
					}
				}
			case *syntax.For:
				if n, ok := x.Target.(*syntax.Name); ok && n.ID == name {
					local = true
				}
			case *syntax.FunctionDef, *syntax.Lambda:
				return false
			}
			return true
		})
	}
	return local
}

// holding follows where the array of a name goes. escapes: something else may hold it, or a view of it, from then on.
type holding struct {
	*values
	name    string
	escapes bool
}

func (h *holding) statements(all []syntax.Stmt) {
	for _, st := range all {
		h.statement(st)
	}
}

func (h *holding) statement(node syntax.Node) {
	h.walk(node, func(node syntax.Node) bool {
		switch x := node.(type) {
		case *syntax.FunctionDef:
			if !h.isLocal(x.Args, x.Body, h.name) {
				h.statements(x.Body)
			}
			return false
		case *syntax.Assign:
			h.stays(x.Value)
		case *syntax.AnnAssign:
			h.stays(x.Value)
		case *syntax.NamedExpr:
			h.stays(x.Value)
		case *syntax.Return:
			h.stays(x.Value)
		case *syntax.ExprStmt: // the value of a cell's last one stays in Out[]
			h.stays(x.Value)
		case *syntax.For:
			h.stays(x.Iter)
		case *syntax.Comprehension:
			h.stays(x.Iter)
		case *syntax.Yield:
			h.stays(x.Value)
		case *syntax.WithItem:
			h.stays(x.Context)
		case *syntax.Match:
			h.stays(x.Subject)
		case *syntax.Arg:
			h.stays(x.Default)
		case *syntax.Comp:
			h.stays(x.Elt)
			h.stays(x.Value)
		case *syntax.Call:
			h.call(x)
		case *syntax.Magic:
			line := len(x.Body) > 0 && !strings.HasPrefix(x.Text, "%%") // its text is the body's
			h.escapes = h.escapes || !line && strings.Contains(x.Text, h.name)
		}
		return !h.escapes
	})
}

// expr looks at an expression on its own, where its value stays.
func (h *holding) expr(e syntax.Expr) {
	h.stays(e)
	h.statement(e)
}

func (h *holding) stays(e syntax.Expr) {
	if e != nil && h.has(e) {
		h.escapes = true
	}
}

// has reports whether the value of an expression may be the array, a view of it, or hold one of these.
func (h *holding) has(e syntax.Expr) bool {
	if !h.step() {
		return false
	}
	switch x := e.(type) {
	case nil:
		return false
	case *syntax.Name:
		return x.ID == h.name
	case *syntax.Constant, *syntax.BinOp, *syntax.UnaryOp, *syntax.Compare, *syntax.JoinedStr:
		return false
	case *syntax.Attribute:
		return !numbers[x.Attr] && h.has(x.Value)
	case *syntax.Subscript:
		return h.has(x.Value) && !isMask(x.Slice)
	case *syntax.Starred:
		return h.has(x.Value)
	case *syntax.Call:
		return h.callHas(x)
	}
	found := false
	h.walk(e, func(node syntax.Node) bool {
		if n, ok := node.(*syntax.Name); ok && n.ID == h.name {
			found = true
		}
		return !found
	})
	return found
}

// isMask reports whether an index is a comparison, which makes a copy.
func isMask(e syntax.Expr) bool {
	_, ok := e.(*syntax.Compare)
	return ok
}

// callHas reports whether the result of a call may hold the array.
func (h *holding) callHas(x *syntax.Call) bool {
	if name := h.numpy(x.Func); name != "" {
		return !h.returnsFresh(name, x) && h.anyArgument(x)
	}
	if strings.HasPrefix(h.full(x.Func), "builtins.") {
		return !harmless[strings.TrimPrefix(h.full(x.Func), "builtins.")] && h.anyArgument(x)
	}
	if of, name, _ := h.method(x); of != nil {
		if h.has(of) && !(pure[name] && x.Keyword("copy") == nil) {
			return true
		}
		if h.has(of) {
			return false
		}
	}
	return h.anyArgument(x)
}

// returnsFresh reports whether a function of NumPy returns none of its arguments, and no view of them.
func (h *holding) returnsFresh(name string, x *syntax.Call) bool {
	if x.Keyword("out") != nil || x.Keyword("copy") != nil || x.Keyword("subok") != nil {
		return false
	}
	return unary[name] || binary[name] || reductions[name] || copying[name] || plain[name]
}

func (h *holding) anyArgument(x *syntax.Call) bool {
	for _, a := range x.Args {
		if h.has(a) {
			return true
		}
	}
	for _, k := range x.Keywords {
		if h.has(k.Value) {
			return true
		}
	}
	return false
}

// call looks at a call: a function that is not known may keep its arguments.
func (h *holding) call(x *syntax.Call) {
	if name := h.numpy(x.Func); name != "" {
		return // what it returns is looked at where that stays
	}
	if strings.HasPrefix(h.full(x.Func), "builtins.") {
		return
	}
	if of, name, _ := h.method(x); of != nil && h.has(of) && pure[name] {
		return
	}
	if h.anyArgument(x) {
		h.escapes = true
	}
	if of, _, _ := h.method(x); of != nil && h.has(of) {
		// A method that is not known, such as x.setflags or x.view: the result is looked at where it stays.
		return
	}
}
