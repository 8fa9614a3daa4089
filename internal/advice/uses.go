package advice

import "ipytracer/internal/syntax"

// use is how a run of a statement uses a name.
type use struct {
	reads   bool
	shape   bool // the statement reads nothing but the shape
	binds   bool
	escapes bool // another name or object may hold the value afterwards
}

// useOf returns how a statement uses a name, by itself and by the functions that it mentions.
func (l *lives) useOf(s ranStep, name string) (u use) {
	onlyShape := true
	for _, node := range runsAtOnce(s.node) {
		m := mentions(node, name)
		if magic, ok := node.(*syntax.Magic); ok && magic.Name() == "timeit" {
			m.binds = false // %timeit runs its code in a function: the names are local
		}
		u.binds, u.escapes = u.binds || m.binds, u.escapes || m.escapes
		if m.reads > 0 || inText(node, name) {
			u.reads = true
			onlyShape = onlyShape && m.reads > 0 && m.reads == shapeReads(node, name)
		}
		if l.calls(node, name, s.order) {
			u.reads, onlyShape = true, false
		}
	}
	u.shape = u.reads && onlyShape
	return u
}

// runsAtOnce returns the parts of a statement that run with it. The body of a function or of a lambda runs when it is
// called.
func runsAtOnce(stmt syntax.Stmt) (parts []syntax.Node) {
	switch node := stmt.(type) {
	case *syntax.FunctionDef:
		for _, e := range node.Decorators {
			parts = append(parts, e)
		}
		return parts
	case *syntax.Assign:
		if _, isLambda := node.Value.(*syntax.Lambda); isLambda {
			return nil
		}
	}
	return []syntax.Node{stmt}
}

// calls reports whether a node mentions a function that reads a name, or that calls such a function. Only functions
// that are defined up to order count.
func (l *lives) calls(node syntax.Node, name string, order int) bool {
	seen := map[string]bool{}
	return syntax.Any(node, func(n *syntax.Name) bool {
		return n.ID != name && l.reaches(n.ID, name, order, seen)
	})
}

// reaches reports whether a function reads a name, by itself or by a function that it mentions. seen has the functions
// that were tried.
func (l *lives) reaches(function, name string, order int, seen map[string]bool) bool {
	if seen[function] || len(seen) > maxCalls {
		return false
	}
	seen[function] = true
	for i := len(l.functions) - 1; i >= 0; i-- {
		d := &l.functions[i]
		if d.order > order || d.name != function {
			continue
		}
		if d.reads[name] {
			return true
		}
		for read := range d.reads {
			if l.reaches(read, name, order, seen) {
				return true
			}
		}
		return false
	}
	return false
}
