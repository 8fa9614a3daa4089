package notebook

import (
	"slices"
	"strings"

	"ipytracer/internal/syntax"
)

// keepsNothing reports whether a use that may alias a value is known to make no alias.
func (s *Flow) keepsNothing(st *Statement, u *syntax.Use) bool {
	if a, ok := st.Node.(*syntax.AugAssign); ok && (u.How == syntax.Part || u.How == syntax.Kept) && u.Callee == "" {
		target, is := a.Target.(*syntax.Name)
		return is && s.dull(target.ID, st) // an array takes the numbers, a list the rows
	}
	if copiesInto(st.Node) {
		root := syntax.Root(st.Node.(*syntax.Assign).Targets[0])
		if s.kind(root, st) == arrays && s.dull(root, st) && u.How != syntax.Argument {
			return true
		}
	}
	if u.How == syntax.Used {
		return true
	}
	if passesOn(st.Node) || writesInto(s, st.Node, u.Name) || handsElements(s, u, st) {
		return false
	}
	if u.How == syntax.Kept {
		return s.knownCallee(u)
	}
	if strings.HasPrefix(u.Callee, ".") && u.How != syntax.Argument {
		return s.fresh(u.Name, u.Callee[1:], st)
	}
	return u.Callee != "" && (s.knownCallee(u) || s.parameterUnheld(u.Callee, 0))
}

// copiesInto reports whether a statement stores one value in an element, which arrays copy.
func copiesInto(node syntax.Stmt) bool {
	a, ok := node.(*syntax.Assign)
	if !ok || len(a.Targets) != 1 {
		return false
	}
	_, ok = a.Targets[0].(*syntax.Subscript)
	return ok
}

// passesOn reports whether a function of NumPy that a node calls may pass on an argument. It returns the argument where
// a keyword such as out= says so. It returns an array with the argument as an element where the array has the dtype
// object.
func passesOn(node syntax.Node) bool {
	return syntax.Any(node, func(n syntax.Node) bool {
		switch x := n.(type) {
		case *syntax.Keyword:
			return x.Arg == "out" || x.Arg == "copy" || x.Arg == "subok" || x.Arg == "bins"
		case *syntax.Name:
			return x.ID == "object"
		case *syntax.Constant:
			return x.Kind == "str" && (x.Value == "O" || x.Value == "object")
		}
		return false
	})
}

// knownCallee reports whether a value goes to a function that keeps no argument and returns no part of one.
func (s *Flow) knownCallee(u *syntax.Use) bool {
	if u.How == syntax.Used || u.How == syntax.Method || u.Callee == "" || strings.HasPrefix(u.Callee, ".") {
		return false
	}
	full := s.full(u.Callee)
	module, last := full, full
	if i := strings.LastIndexByte(full, '.'); i >= 0 {
		module, last = full[:i], full[i+1:]
	}
	switch module {
	case "numpy":
		return functions[last]
	case "numpy.linalg", "numpy.fft", "numpy.random", "math", "cmath", "statistics", "time", "zlib", "os.path":
		return true
	case "builtins":
		return harmless[last]
	case "sklearn.metrics":
		_, measure, _ := strings.Cut(last, "_")
		return measures[lastWord(measure)] || last == "confusion_matrix" || last == "classification_report"
	case "sys", "gc":
		return last == "getsizeof" || last == "getrefcount" || last == "is_tracked"
	}
	return false
}

// handsOnOtherwise reports whether a statement hands on one of the names in a way that is no alias in its tree: by an
// operator of lists, by an unknown method, or by a magic.
func (s *Flow) handsOnOtherwise(st *Statement, names map[string]bool) (found bool) {
	syntax.Walk(st.Node, func(n syntax.Node) bool {
		switch x := n.(type) {
		case *syntax.FunctionDef, *syntax.Lambda:
			return false
		case *syntax.BinOp:
			for _, e := range []syntax.Expr{x.Left, x.Right} {
				if name, ok := e.(*syntax.Name); ok && names[name.ID] && !s.dull(name.ID, st) {
					found = true
				}
			}
		case *syntax.Call:
			f, ok := x.Func.(*syntax.Attribute)
			if !ok {
				break
			}
			if name, ok := f.Value.(*syntax.Name); ok && names[name.ID] && !s.fresh(name.ID, f.Attr, st) {
				found = true
			}
		case *syntax.Magic:
			found = found || len(x.Body) == 0 && mentionsAny(x.Text, names)
		case *syntax.Shell:
			found = found || mentionsAny(x.Text, names)
		}
		return !found && s.step()
	})
	return found || s.steps > maxLooks || strays(s, st.Node, names, st)
}

func mentionsAny(text string, names map[string]bool) bool {
	for name := range names {
		if strings.Contains(text, name) {
			return true
		}
	}
	return false
}

// surely returns the names that surely hold a value behind a statement that uses it. These are the targets of an
// assignment of the value, of a display with the value, or of a view of it that made no memory of that size by itself.
// A list that the value is appended to is one, too.
func (s *Flow) surely(st *Statement, u *syntax.Use) []string {
	if e, ok := st.Node.(*syntax.ExprStmt); ok {
		call, _ := e.Value.(*syntax.Call)
		if call == nil || u.Callee == "" || !appends[lastPart(u.Callee)] || !direct(call, u.Name) {
			return nil
		}
		f, _ := call.Func.(*syntax.Attribute)
		if f == nil {
			return nil
		}
		list := syntax.Base(f.Value)
		if list == u.Name || s.plain(list, st) || s.leads(list) {
			return nil
		}
		return []string{list}
	}
	a, ok := st.Node.(*syntax.Assign)
	if !ok || !s.isHeld(st, a.Value, u) {
		return nil
	}
	var into []string
	for _, target := range a.Targets {
		if root := syntax.Root(target); root != "" && root != u.Name {
			if _, element := target.(*syntax.Subscript); !element || !s.plain(root, st) {
				into = append(into, root)
			}
		}
	}
	return into
}

// isHeld reports whether the value of an expression holds that of a name.
func (s *Flow) isHeld(st *Statement, value syntax.Expr, u *syntax.Use) bool {
	switch v := value.(type) {
	case *syntax.Name:
		return v.ID == u.Name
	case *syntax.Tuple:
		return u.How == syntax.Kept && among(v.Elts, u.Name)
	case *syntax.List:
		return u.How == syntax.Kept && among(v.Elts, u.Name)
	case *syntax.Dict:
		return u.How == syntax.Kept && among(v.Values, u.Name)
	case *syntax.Attribute:
		return s.isArray(u.Name, st) && v.Attr == "T" && syntax.IsName(v.Value, u.Name)
	case *syntax.Subscript:
		_, slice := v.Slice.(*syntax.Slice)
		return slice && s.isArray(u.Name, st) && syntax.IsName(v.Value, u.Name)
	case *syntax.Call:
		view := u.How == syntax.Method && views[strings.TrimPrefix(u.Callee, ".")] ||
			u.How == syntax.Argument && strings.HasPrefix(s.full(u.Callee), "numpy.") && views[lastPart(u.Callee)]
		return view && s.isArray(u.Name, st) && direct(v, u.Name) && !s.allocates(st)
	}
	return false
}

// isView reports whether a statement assigns a part or a view of the array of a name.
func (s *Flow) isView(st *Statement, name string) bool {
	a, ok := st.Node.(*syntax.Assign)
	if !ok || s.kind(name, st) != arrays {
		return false
	}
	switch v := a.Value.(type) {
	case *syntax.Attribute:
		return viewed[v.Attr] && syntax.IsName(v.Value, name)
	case *syntax.Subscript:
		return syntax.IsName(v.Value, name)
	case *syntax.Call:
		f, ok := v.Func.(*syntax.Attribute)
		ofNumPy := ok && direct(v, name) && s.modules[syntax.Base(f.Value)] == "numpy"
		return ok && views[f.Attr] && (syntax.IsName(f.Value, name) || ofNumPy)
	}
	return false
}

func among(all []syntax.Expr, name string) bool {
	return slices.ContainsFunc(all, func(e syntax.Expr) bool { return syntax.IsName(e, name) })
}

// direct reports whether a call is of a method of a name, or has the name as its first argument.
func direct(call *syntax.Call, name string) bool {
	if f, ok := call.Func.(*syntax.Attribute); ok && syntax.IsName(f.Value, name) {
		return true
	}
	return len(call.Args) > 0 && syntax.IsName(call.Args[0], name)
}

// allocates reports whether a statement made memory that outlived it: a view makes none.
func (s *Flow) allocates(st *Statement) bool {
	return st.Moment == nil || st.Moment.KeptBytes(func(*Site) bool { return true }) > s.n.Least()/2
}
