package advice

import (
	"ipytracer/internal/syntax"
)

// use is how a run of a statement uses a name.
type use struct {
	reads, shape, binds, escapes bool
}

// of returns how a statement uses a name, by itself and by the functions that it mentions.
func (l *lives) of(s ranStep, name string) (u use) {
	var whole []syntax.Node
	switch node := s.node.(type) {
	case *syntax.FunctionDef: // its body runs where it is called
		for _, e := range node.Decorators {
			whole = append(whole, e)
		}
	case *syntax.Assign:
		if _, isLambda := node.Value.(*syntax.Lambda); isLambda {
			break
		}
		whole = append(whole, node)
	default:
		whole = append(whole, s.node)
	}
	shape := true
	for _, node := range whole {
		m := mentions(node, name)
		if magic, ok := node.(*syntax.Magic); ok && magic.Name() == "timeit" {
			m.binds = false // its names are its own
		}
		u.binds, u.escapes = u.binds || m.binds, u.escapes || m.escapes
		if m.reads > 0 || inText(node, name) {
			u.reads = true
			shape = shape && m.reads > 0 && m.reads == shapes(node, name)
		}
		if l.calls(node, name, s.order) {
			u.reads, shape = true, false
		}
	}
	u.shape = u.reads && shape
	return u
}

// calls reports whether a node mentions a function that reads a name, or that calls such a function.
func (l *lives) calls(node syntax.Node, name string, order int) bool {
	seen := map[string]bool{}
	return syntax.Any(node, func(n *syntax.Name) bool {
		return n.ID != name && l.reaches(n.ID, name, order, seen)
	})
}

// reaches reports whether a function, or one that it mentions, reads a name.
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
