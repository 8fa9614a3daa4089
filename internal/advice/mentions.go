package advice

import (
	"ipytracer/internal/syntax"
	"slices"
	"strings"
)

// mention is how a part of a tree uses a name. It does not know scopes: a name of the same letters in a function below
// counts.
type mention struct {
	reads   int
	binds   bool
	escapes bool // something else may hold the value then
}

// mentions returns how a node uses a name.
func mentions(node syntax.Node, name string) (m mention) {
	for node := range syntax.All[syntax.Node](node) {
		switch n := node.(type) {
		case *syntax.Assign:
			m.escapes = m.escapes || mayHold(n.Value, name)
		case *syntax.AnnAssign:
			m.escapes = m.escapes || mayHold(n.Value, name)
		case *syntax.For:
			m.escapes = m.escapes || syntax.IsName(n.Iter, name)
		case *syntax.NamedExpr:
			m.escapes = m.escapes || mayHold(n.Value, name)
		case *syntax.Return:
			m.escapes = m.escapes || mayHold(n.Value, name)
		case *syntax.Yield:
			m.escapes = m.escapes || mayHold(n.Value, name)
		case *syntax.FunctionDef, *syntax.Lambda, *syntax.ClassDef, *syntax.Global, *syntax.Nonlocal:
			m.escapes = m.escapes || reads(n, name)
		case *syntax.Call:
			m.escapes = m.escapes || keeps(n, name)
		case *syntax.Name:
			if n.ID == name {
				m.reads++
			}
		}
		targets(node, func(target string, kind syntax.BindKind) {
			if target == name && kind != syntax.Augmented && kind != syntax.Entered {
				m.binds = true
				m.reads--
			}
		})
	}
	return m
}

// targets hands on the names that a node binds as targets: not as a definition, an import or a pattern.
func targets(node syntax.Node, each func(name string, kind syntax.BindKind)) {
	syntax.Bound(node, func(name string, kind syntax.BindKind) {
		switch kind {
		case syntax.Defined, syntax.Classed, syntax.Imported, syntax.Excepted, syntax.Matched:
		default:
			each(name, kind)
		}
	})
}

func reads(node syntax.Node, name string) bool {
	return syntax.Any(node, func(n *syntax.Name) bool { return n.ID == name })
}

// mayHold reports whether the value of an expression may be, hold or share the value of a name: the name itself, a part
// or a view of it, a display with it, or a generator that reads it. Arithmetic makes a value of its own. So do other
// comprehensions, as far as the memory that they made says.
func mayHold(value syntax.Expr, name string) bool {
	switch v := value.(type) {
	case *syntax.Name:
		return v.ID == name
	case *syntax.Attribute:
		return !small[v.Attr] && mayHold(v.Value, name)
	case *syntax.Subscript:
		return mayHold(v.Value, name)
	case *syntax.Starred:
		return mayHold(v.Value, name)
	case *syntax.Tuple:
		return anyMayHold(v.Elts, name)
	case *syntax.List:
		return anyMayHold(v.Elts, name)
	case *syntax.Set:
		return anyMayHold(v.Elts, name)
	case *syntax.Dict:
		return anyMayHold(v.Keys, name) || anyMayHold(v.Values, name)
	case *syntax.IfExp:
		return mayHold(v.Body, name) || mayHold(v.Else, name)
	case *syntax.BoolOp:
		return anyMayHold(v.Values, name)
	case *syntax.NamedExpr:
		return mayHold(v.Value, name)
	case *syntax.Await:
		return mayHold(v.Value, name)
	case *syntax.Comp:
		return v.Kind == "generator" && reads(v, name)
	case *syntax.Call:
		if f, ok := v.Func.(*syntax.Attribute); ok && mayHold(f.Value, name) {
			return !makes[f.Attr]
		}
		return false // the memory behind the call shows whether it keeps its arguments
	}
	return false
}

func anyMayHold(all []syntax.Expr, name string) bool {
	return slices.ContainsFunc(all, func(e syntax.Expr) bool { return mayHold(e, name) })
}

// keeps reports whether a call is a method that keeps its argument in its object: things.append(x).
func keeps(call *syntax.Call, name string) bool {
	method, ok := call.Func.(*syntax.Attribute)
	return ok && holding[method.Attr] && anyMayHold(call.Args, name)
}

// inText reports whether a text in a statement has a name in it, as df.query("a > @limit") and numexpr.evaluate do.
func inText(node syntax.Node, name string) bool {
	return syntax.Any(node, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.Call:
			called := syntax.LastName(n.Func)
			return (called == "query" || called == "eval" || called == "evaluate") &&
				slices.ContainsFunc(n.Args, func(arg syntax.Expr) bool {
					c, ok := arg.(*syntax.Constant)
					return ok && c.Kind == "str" && strings.Contains(c.Value, name)
				})
		case *syntax.Magic:
			ofLine := len(n.Body) > 0 && !strings.HasPrefix(n.Text, "%%") // its text is the body's
			return !ofLine && strings.Contains(n.Text, name)
		case *syntax.Shell:
			return strings.Contains(n.Text, name)
		}
		return false
	})
}

// shapes counts the reads of a name that only ask for its shape.
func shapes(node syntax.Node, name string) (count int) {
	for n := range syntax.All[syntax.Node](node) {
		if shapeOf(n, name) {
			count++
		}
	}
	return count
}

// shapeOf reports whether a node is NAME.shape or len(NAME).
func shapeOf(node syntax.Node, name string) bool {
	switch n := node.(type) {
	case *syntax.Attribute:
		return n.Attr == "shape" && syntax.IsName(n.Value, name)
	case *syntax.Call:
		f, ok := n.Func.(*syntax.Name)
		return ok && f.ID == "len" && len(n.Args) == 1 && syntax.IsName(n.Args[0], name)
	}
	return false
}
