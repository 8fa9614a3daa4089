package kept

import (
	"slices"
	"strings"

	"ipytracer/internal/advice/evidence"
	"ipytracer/internal/syntax"
)

// each visits the nodes of all cells from one on, in order.
func each(n *evidence.Notebook, from int, visit func(*evidence.Cell, syntax.Node)) {
	for _, c := range n.Cells[min(from, len(n.Cells)):] {
		if c.Tree != nil {
			syntax.Walk(c.Tree, func(node syntax.Node) bool {
				visit(c, node)
				return true
			})
		}
	}
}

// isRead reports whether all cells from one on have trees.
func isRead(n *evidence.Notebook, from int) bool {
	return !slices.ContainsFunc(n.Cells[min(from, len(n.Cells)):], func(c *evidence.Cell) bool { return c.Tree == nil })
}

// mentions counts the places where a name stands, in all cells from one on: as a name, a parameter, a global, or in the
// text of a magic.
func mentions(n *evidence.Notebook, from int, name string) (count int) {
	each(n, from, func(_ *evidence.Cell, node syntax.Node) {
		switch node := node.(type) {
		case *syntax.Name:
			if node.ID == name {
				count++
			}
		case *syntax.Global:
			if slices.Contains(node.Names, name) {
				count++
			}
		case *syntax.Magic:
			if strings.Contains(node.Text, name) {
				count++
			}
		case *syntax.Shell:
			if strings.Contains(node.Text, name) {
				count++
			}
		}
	})
	return count
}

// binds reports whether a statement gives a name another value or deletes it, outside of functions that it defines.
func binds(s syntax.Node, name string) (found bool) {
	target := func(all ...syntax.Expr) {
		for _, e := range all {
			found = found || e != nil && isTarget(e, name)
		}
	}
	syntax.Walk(s, func(node syntax.Node) bool {
		switch node := node.(type) {
		case *syntax.Assign:
			target(node.Targets...)
		case *syntax.AnnAssign:
			target(node.Target)
		case *syntax.Delete:
			target(node.Targets...)
		case *syntax.For:
			target(node.Target)
		case *syntax.WithItem:
			target(node.Vars)
		case *syntax.NamedExpr:
			target(node.Target)
		case *syntax.FunctionDef:
			found = found || node.Name == name
			return false
		case *syntax.ClassDef:
			found = found || node.Name == name
			return false
		case *syntax.Lambda, *syntax.Comp:
			return false
		}
		return !found
	})
	return found
}

// isTarget reports whether an assignment to an expression binds a name.
func isTarget(e syntax.Expr, name string) bool { return slices.Contains(targets(e), name) }

// targets returns the names that an assignment to an expression binds.
func targets(e syntax.Expr) (names []string) {
	switch e := e.(type) {
	case *syntax.Name:
		return []string{e.ID}
	case *syntax.Starred:
		return targets(e.Value)
	case *syntax.Tuple:
		for _, one := range e.Elts {
			names = append(names, targets(one)...)
		}
	case *syntax.List:
		for _, one := range e.Elts {
			names = append(names, targets(one)...)
		}
	}
	return names
}

// namesIn returns the names that stand in a node, each once.
func namesIn(node syntax.Node) (names []string) {
	syntax.Walk(node, func(node syntax.Node) bool {
		if name, ok := node.(*syntax.Name); ok && !slices.Contains(names, name.ID) {
			names = append(names, name.ID)
		}
		return true
	})
	return names
}

// bound returns the names at the top that a statement binds.
func bound(s syntax.Stmt) (names []string) {
	switch s := s.(type) {
	case *syntax.Assign:
		for _, t := range s.Targets {
			names = append(names, targets(t)...)
		}
	case *syntax.AnnAssign:
		names = targets(s.Target)
	default:
		for _, name := range namesIn(s) {
			if binds(s, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// isName reports whether an expression is a name, or, for one with a dot, an attribute of a name.
func isName(e syntax.Expr, names ...string) bool { return slices.Contains(names, dotted(e)) }

// dotted returns a name with its attributes, as in "np.linalg.norm"; "" for other expressions.
func dotted(e syntax.Expr) string {
	switch e := e.(type) {
	case *syntax.Name:
		return e.ID
	case *syntax.Attribute:
		if of := dotted(e.Value); of != "" {
			return of + "." + e.Attr
		}
	}
	return ""
}

// at returns the last run of the statement that a line of a cell belongs to; nil if there is none.
func at(c *evidence.Cell, line int) (found *evidence.Statement) {
	if c == nil {
		return nil
	}
	for _, s := range c.Statements {
		if s.Line <= line && (found == nil || s.Line >= found.Line) {
			found = s
		}
	}
	return found
}
