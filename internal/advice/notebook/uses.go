package notebook

import (
	"slices"
	"strings"

	"ipytracer/internal/syntax"
)

// keepsNothing reports whether a use that may alias a value certainly makes no alias.
func (s *Flow) keepsNothing(st *Statement, u *syntax.Use) bool {
	if a, ok := st.Node.(*syntax.AugAssign); ok && (u.How == syntax.Part || u.How == syntax.Kept) && u.Callee == "" {
		target, isName := a.Target.(*syntax.Name)
		return isName && s.isPlainData(target.ID, st) // += copies into an array, but keeps the elements in a list
	}
	if copiesInto(st.Node) {
		root := syntax.Root(st.Node.(*syntax.Assign).Targets[0])
		if s.familyAt(root, st) == arrays && s.isPlainData(root, st) && u.How != syntax.Argument {
			return true
		}
	}
	if u.How == syntax.Used {
		return true
	}
	if mayPassOn(st.Node) || writesInto(s, st.Node, u.Name) || mayReturnArgument(s, u, st) {
		return false
	}
	if u.How == syntax.Kept {
		return s.knownCallee(u)
	}
	if strings.HasPrefix(u.Callee, ".") && u.How != syntax.Argument {
		return s.returnsNew(u.Name, u.Callee[1:], st)
	}
	return u.Callee != "" && (s.knownCallee(u) || s.parameterUnheld(u.Callee, 0))
}

// copiesInto reports whether a statement has the form x[i] = value: an array copies the value.
func copiesInto(node syntax.Stmt) bool {
	a, ok := node.(*syntax.Assign)
	if !ok || len(a.Targets) != 1 {
		return false
	}
	_, ok = a.Targets[0].(*syntax.Subscript)
	return ok
}

// mayPassOn reports whether a function of NumPy that a node calls may return an argument: because of a keyword such as
// out=, or because it makes an array of objects with the argument as an element.
func mayPassOn(node syntax.Node) bool {
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

// knownCallee reports whether a use passes a value to a function that is known to keep no argument, and to return no
// part of one.
func (s *Flow) knownCallee(u *syntax.Use) bool {
	if u.How == syntax.Used || u.How == syntax.Method || u.Callee == "" || strings.HasPrefix(u.Callee, ".") {
		return false
	}
	full := s.fullName(u.Callee)
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

// passesOnUnseen reports whether a statement may pass on the value of one of the names in a way that the uses of names
// do not show: by an operator of lists, by a method that may return a part, or by a magic.
func (s *Flow) passesOnUnseen(st *Statement, names map[string]bool) (found bool) {
	syntax.Walk(st.Node, func(n syntax.Node) bool {
		switch x := n.(type) {
		case *syntax.FunctionDef, *syntax.Lambda:
			return false
		case *syntax.BinOp:
			for _, e := range []syntax.Expr{x.Left, x.Right} {
				if name, ok := e.(*syntax.Name); ok && names[name.ID] && !s.isPlainData(name.ID, st) {
					found = true
				}
			}
		case *syntax.Call:
			f, ok := x.Func.(*syntax.Attribute)
			if !ok {
				break
			}
			if name, ok := f.Value.(*syntax.Name); ok && names[name.ID] && !s.returnsNew(name.ID, f.Attr, st) {
				found = true
			}
		case *syntax.Magic:
			found = found || len(x.Body) == 0 && mentionsAny(x.Text, names)
		case *syntax.Shell:
			found = found || mentionsAny(x.Text, names)
		}
		return !found && s.step()
	})
	return found || s.steps > maxSteps || anyCallKeeps(s, st.Node, names, st)
}

func mentionsAny(text string, names map[string]bool) bool {
	for name := range names {
		if strings.Contains(text, name) {
			return true
		}
	}
	return false
}

// sureHolders returns the names that certainly hold a value after a statement that uses it: the targets of an
// assignment of the value, of a display with it, or of a view of it; or the list to which the statement appends it.
func (s *Flow) sureHolders(st *Statement, u *syntax.Use) []string {
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
		if list == u.Name || s.isKnownData(list, st) || s.leadsToModule(list) {
			return nil
		}
		return []string{list}
	}
	a, ok := st.Node.(*syntax.Assign)
	if !ok || !s.isHeld(st, a.Value, u) {
		return nil
	}
	var holders []string
	for _, target := range a.Targets {
		root := syntax.Root(target)
		if root == "" || root == u.Name {
			continue
		}
		_, isElement := target.(*syntax.Subscript)
		if copies := isElement && s.isKnownData(root, st); !copies {
			holders = append(holders, root)
		}
	}
	return holders
}

// isHeld reports whether the value of an expression certainly holds the value of the name that u uses.
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
			u.How == syntax.Argument && strings.HasPrefix(s.fullName(u.Callee), "numpy.") && views[lastPart(u.Callee)]
		return view && s.isArray(u.Name, st) && direct(v, u.Name) && !s.allocates(st)
	}
	return false
}

// isView reports whether a statement assigns a part or a view of a name's array.
func (s *Flow) isView(st *Statement, name string) bool {
	a, ok := st.Node.(*syntax.Assign)
	if !ok || s.familyAt(name, st) != arrays {
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

func among(exprs []syntax.Expr, name string) bool {
	return slices.ContainsFunc(exprs, func(e syntax.Expr) bool { return syntax.IsName(e, name) })
}

// direct reports whether a call has the form name.method(…) or function(name, …).
func direct(call *syntax.Call, name string) bool {
	if f, ok := call.Func.(*syntax.Attribute); ok && syntax.IsName(f.Value, name) {
		return true
	}
	return len(call.Args) > 0 && syntax.IsName(call.Args[0], name)
}

// allocates reports whether a statement allocated memory that outlived it: then its result is no view, but a copy.
func (s *Flow) allocates(st *Statement) bool {
	return st.Moment == nil || st.Moment.KeptBytes(func(*Site) bool { return true }) > s.n.Least()/2
}
