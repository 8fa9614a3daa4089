package advice

import (
	"slices"
	"strings"

	"ipytracer/internal/syntax"
)

// mention is how a part of a syntax tree uses a name. It ignores scopes: an equal name of an inner function counts,
// too.
type mention struct {
	reads   int
	binds   bool
	escapes bool // another name or object may hold the value afterwards
}

// mentions returns how a node and all nodes below it use a name.
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
				m.reads-- // the target is a syntax.Name, too
			}
		})
	}
	return m
}

// targets calls visit for each name that a node binds as a target. Definitions, imports and patterns are no targets.
func targets(node syntax.Node, visit func(name string, kind syntax.BindKind)) {
	syntax.Bound(node, func(name string, kind syntax.BindKind) {
		switch kind {
		case syntax.Defined, syntax.Classed, syntax.Imported, syntax.Excepted, syntax.Matched:
		default:
			visit(name, kind)
		}
	})
}

func reads(node syntax.Node, name string) bool {
	return syntax.Any(node, func(n *syntax.Name) bool { return n.ID == name })
}

// mayHold reports whether the value of an expression may keep the value of a name alive: the expression is the name, a
// part or a view of its value, a display such as [x], or a generator that reads it. Arithmetic makes a new value. A
// list comprehension may keep its elements, but then the memory that it allocated shows that.
func mayHold(value syntax.Expr, name string) bool {
	switch v := value.(type) {
	case *syntax.Name:
		return v.ID == name
	case *syntax.Attribute:
		return !dataless[v.Attr] && mayHold(v.Value, name)
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
			return !copying[f.Attr]
		}
		return false // the memory behind the call shows whether it keeps its arguments
	}
	return false
}

func anyMayHold(all []syntax.Expr, name string) bool {
	return slices.ContainsFunc(all, func(e syntax.Expr) bool { return mayHold(e, name) })
}

// keeps reports whether a call stores the name's value in the method's object, as things.append(x) does.
func keeps(call *syntax.Call, name string) bool {
	method, ok := call.Func.(*syntax.Attribute)
	return ok && storing[method.Attr] && anyMayHold(call.Args, name)
}

// inText reports whether a string or a magic of a statement mentions a name, as in df.query("a > @limit").
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
			isParsed := len(n.Body) > 0 && !strings.HasPrefix(n.Text, "%%") // the nodes of Body show its names
			return !isParsed && strings.Contains(n.Text, name)
		case *syntax.Shell:
			return strings.Contains(n.Text, name)
		}
		return false
	})
}

// shapeReads counts the reads of a name that only ask for its shape.
func shapeReads(node syntax.Node, name string) (count int) {
	for n := range syntax.All[syntax.Node](node) {
		if isShape(n, name) {
			count++
		}
	}
	return count
}

// isShape reports whether a node is NAME.shape or len(NAME).
func isShape(node syntax.Node, name string) bool {
	switch n := node.(type) {
	case *syntax.Attribute:
		return n.Attr == "shape" && syntax.IsName(n.Value, name)
	case *syntax.Call:
		f, ok := n.Func.(*syntax.Name)
		return ok && f.ID == "len" && len(n.Args) == 1 && syntax.IsName(n.Args[0], name)
	}
	return false
}
