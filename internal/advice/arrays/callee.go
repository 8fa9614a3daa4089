package arrays

import "ipytracer/internal/syntax"

// callee is a function of the notebook in which arrays lived at the highest moment.
type callee struct {
	def *syntax.FunctionDef
	// calls are all its calls in the notebook, the one that was running first.
	calls []calling
	// once: the running statement calls it once.
	once bool
}

// calling is a call of a function, and its place.
type calling struct {
	call *syntax.Call
	at   at
}

// calleeOf returns the function that a place is in, if the running statement calls it itself, and no other code can
// give it other arguments: nil otherwise.
func (s *values) calleeOf(p *place) *callee {
	var def *syntax.FunctionDef
	for _, st := range p.path {
		switch x := st.(type) {
		case *syntax.FunctionDef:
			if def != nil {
				return nil
			}
			def = x
		case *syntax.ClassDef:
			return nil
		}
	}
	if def == nil || def.Async || len(def.Decorators) > 0 || def.Args.VarArg != nil || len(s.binds[def.Name]) != 1 {
		return nil
	}
	f := &callee{def: def}
	reads, running := 0, 0
	for _, st := range s.n.Statements {
		if st.Node == nil {
			return nil
		}
		repeats := false
		s.walk(st.Node, func(node syntax.Node) bool {
			switch x := node.(type) {
			case *syntax.Name:
				if x.ID == def.Name {
					reads++
				}
			case *syntax.For, *syntax.While, *syntax.Comp, *syntax.Lambda, *syntax.FunctionDef:
				repeats = true
			case *syntax.Call:
				if n, ok := x.Func.(*syntax.Name); !ok || n.ID != def.Name {
					break
				}
				one := calling{x, at{order: st.Order, offset: x.Start.Offset}}
				if st == p.running {
					running++
					f.calls = append([]calling{one}, f.calls...)
				} else {
					f.calls = append(f.calls, one)
				}
			}
			return true
		})
		if st == p.running {
			f.once = !repeats
		}
	}
	if running != 1 || reads != len(f.calls) { // it is passed on as a value
		return nil
	}
	return f
}

// local returns what is known about a name in a function: a name that the function binds, or an argument of all calls.
// ok is false for names from outside.
func (s *values) local(name string, p at, depth int) (v value, ok bool) {
	var last syntax.Expr
	bound, several := false, false
	s.walk(&syntax.Module{Body: p.in.def.Body}, func(node syntax.Node) bool {
		switch x := node.(type) {
		case *syntax.Assign:
			for _, target := range x.Targets {
				value, is := boundTo(target, x.Value, name)
				bound, several = bound || is, several || is && value == nil
				if is && x.Start.Offset < p.offset {
					last = value
				}
			}
		case *syntax.For:
			several = several || s.mentions(x.Target, name)
		case *syntax.Global, *syntax.Nonlocal:
			several = true
		}
		return true
	})
	if several {
		return value{}, true
	}
	if last != nil {
		return s.infer(last, at{p.order, last.Place().Start.Offset, p.in}, depth-1), true
	}
	for i, arg := range p.in.def.Args.Args {
		if arg.Name == name {
			return s.argument(i, arg, p.in, depth), true
		}
	}
	return value{}, bound
}

// boundTo returns the value that an assignment binds to a name; nil if it is not known. is reports whether it binds it.
func boundTo(target, value syntax.Expr, name string) (of syntax.Expr, is bool) {
	switch x := target.(type) {
	case *syntax.Name:
		return value, x.ID == name
	case *syntax.Tuple:
		values, parallel := value.(*syntax.Tuple)
		for i, one := range x.Elts {
			if n, ok := one.(*syntax.Name); ok && n.ID == name {
				if parallel && len(values.Elts) == len(x.Elts) {
					return values.Elts[i], true
				}
				return nil, true
			}
		}
	}
	return nil, false
}

// argument returns what all calls give to a parameter: the shape is that of the call that was running.
func (s *values) argument(i int, arg *syntax.Arg, f *callee, depth int) (v value) {
	for n, c := range f.calls {
		e := keyword(c.call, arg.Name)
		if e == nil && i < len(c.call.Args) {
			e = c.call.Args[i]
		}
		if e == nil {
			e = arg.Default
		}
		one := s.infer(e, c.at, depth-1)
		if n == 0 {
			v = one
		} else if one.sort != v.sort || one.dtype != v.dtype {
			return value{}
		}
	}
	v.fresh = false
	return v
}
