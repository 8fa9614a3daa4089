package frames

import (
	"strings"

	"ipytracer/attribution/advice/evidence"
	"ipytracer/attribution/syntax"
)

// book is a notebook with its trees made ready: who is above a node, and under which names pandas is known.
type book struct {
	n       *evidence.Notebook
	pandas  map[string]bool
	parents map[syntax.Node]syntax.Node
}

func bookOf(n *evidence.Notebook) *book {
	b := &book{n: n, pandas: map[string]bool{}, parents: map[syntax.Node]syntax.Node{}}
	for _, c := range n.Cells {
		if c.Tree != nil {
			b.enter(c.Tree)
		}
	}
	return b
}

// enter notes the parents of a tree's nodes. Walk goes from outside to inside, so that the parent of a node is the last
// one before it that spans it.
func (b *book) enter(tree *syntax.Module) {
	var above []syntax.Node
	syntax.Walk(tree, func(node syntax.Node) bool {
		at := node.Place()
		for len(above) > 0 && !spans(above[len(above)-1].Place(), at) {
			above = above[:len(above)-1]
		}
		if len(above) > 0 {
			b.parents[node] = above[len(above)-1]
		}
		above = append(above, node)
		if i, ok := node.(*syntax.Import); ok {
			for _, a := range i.Names {
				if a.Name == "pandas" && a.AsName != "" {
					b.pandas[a.AsName] = true
				} else if a.Name == "pandas" {
					b.pandas["pandas"] = true
				}
			}
		}
		return true
	})
}

// spans reports whether one node spans another that begins behind its start.
func spans(outer, inner syntax.Span) bool {
	return outer.End.Offset >= inner.End.Offset && (outer.End.Offset > inner.Start.Offset || inner.Start == inner.End)
}

// function returns the name of the function of pandas that an expression calls, and the call; "" for none.
func (b *book) function(e syntax.Expr) (string, *syntax.Call) {
	call, ok := e.(*syntax.Call)
	if !ok {
		return "", nil
	}
	if a, ok := call.Func.(*syntax.Attribute); ok {
		if name, ok := a.Value.(*syntax.Name); ok && b.pandas[name.ID] {
			return a.Attr, call
		}
	}
	return "", nil
}

// method returns the name of the method that an expression calls, its object and the call; "" for none.
func (b *book) method(e syntax.Expr) (string, syntax.Expr, *syntax.Call) {
	call, ok := e.(*syntax.Call)
	if !ok {
		return "", nil, nil
	}
	a, ok := call.Func.(*syntax.Attribute)
	if !ok {
		return "", nil, nil
	}
	if name, ok := a.Value.(*syntax.Name); ok && b.pandas[name.ID] {
		return "", nil, nil
	}
	return a.Attr, a.Value, call
}

// assigned returns the name that a statement binds to one value, and the value; "" for other statements. It may be
// timed by %time or %%time, if it is all that is timed.
func assigned(s syntax.Stmt) (string, syntax.Expr) {
	if m, ok := s.(*syntax.Magic); ok && len(m.Body) == 1 && m.Name() == "time" {
		s = m.Body[0]
	}
	switch a := s.(type) {
	case *syntax.Assign:
		if len(a.Targets) == 1 {
			if name, ok := a.Targets[0].(*syntax.Name); ok {
				return name.ID, a.Value
			}
		}
	case *syntax.AnnAssign:
		if name, ok := a.Target.(*syntax.Name); ok && a.Value != nil {
			return name.ID, a.Value
		}
	}
	return "", nil
}

// keyword returns the value of an argument by name; nil if it is not there.
func keyword(call *syntax.Call, name string) syntax.Expr {
	for _, k := range call.Keywords {
		if k.Arg == name {
			return k.Value
		}
	}
	return nil
}

// argument returns the value of an argument by place or by name; nil if it is not there.
func argument(call *syntax.Call, place int, name string) syntax.Expr {
	if place < len(call.Args) {
		return call.Args[place]
	}
	return keyword(call, name)
}

// spread reports whether a call takes arguments out of a list or a dict, which nobody sees.
func spread(call *syntax.Call) bool {
	for _, a := range call.Args {
		if _, ok := a.(*syntax.Starred); ok {
			return true
		}
	}
	return keyword(call, "") != nil
}

// text returns a constant string.
func text(e syntax.Expr) (string, bool) {
	c, ok := e.(*syntax.Constant)
	if !ok || c.Kind != "str" {
		return "", false
	}
	return c.Value, true
}

// texts returns a constant string, or those of a list; false for other expressions.
func texts(e syntax.Expr) ([]string, bool) {
	if one, ok := text(e); ok {
		return []string{one}, true
	}
	var elements []syntax.Expr
	switch l := e.(type) {
	case *syntax.List:
		elements = l.Elts
	case *syntax.Tuple:
		elements = l.Elts
	default:
		return nil, false
	}
	var all []string
	for _, one := range elements {
		s, ok := text(one)
		if !ok {
			return nil, false
		}
		all = append(all, s)
	}
	return all, true
}

// is reports whether an expression is the constant True, False or None.
func is(e syntax.Expr, kind string) bool {
	c, ok := e.(*syntax.Constant)
	return ok && c.Kind == kind
}

// isName reports whether an expression is a name.
func isName(e syntax.Expr, name string) bool {
	n, ok := e.(*syntax.Name)
	return ok && n.ID == name
}

// mentions reports whether a name stands in a node.
func mentions(node syntax.Node, name string) (found bool) {
	syntax.Walk(node, func(one syntax.Node) bool {
		if n, ok := one.(*syntax.Name); ok && n.ID == name {
			found = true
		}
		return !found
	})
	return found
}

// words returns the words of a query's text, which are its columns among others.
func words(query string) []string {
	return strings.FieldsFunc(query, func(r rune) bool {
		return !(r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 127)
	})
}
