package frames

import (
	"slices"

	"ipytracer/internal/advice/evidence"
	"ipytracer/internal/syntax"
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

// text returns a constant string.
func text(e syntax.Expr) (string, bool) {
	c, ok := e.(*syntax.Constant)
	if !ok || c.Kind != "str" {
		return "", false
	}
	return c.Value, true
}

// isName reports whether an expression is a name.
func isName(e syntax.Expr, name string) bool {
	n, ok := e.(*syntax.Name)
	return ok && n.ID == name
}

// parameters returns the names of positional parameters.
func parameters(a *syntax.Arguments) (all []string) {
	if a == nil {
		return nil
	}
	for _, p := range slices.Concat(a.PosOnly, a.Args, a.KwOnly) {
		all = append(all, p.Name)
	}
	return all
}
