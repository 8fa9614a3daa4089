package arrays

import (
	"cmp"
	"slices"
	"strings"

	"ipytracer/attribution/advice/evidence"
	"ipytracer/attribution/syntax"
)

// link is a statement that binds an intermediate array to a name, which only the next statement reads.
type link struct {
	name   string
	cell   *evidence.Cell
	node   syntax.Stmt
	value  syntax.Expr
	ran    *evidence.Statement // nil in a function
	shapes []shape
}

// shape is a place that reads the shape of an intermediate array.
type shape struct {
	cell *evidence.Cell
	node syntax.Expr
}

// maxLinks bounds the intermediate names.
const maxLinks = 4

// link follows a name to the statement that binds it.
func (t *spread) link(l *link, name *syntax.Name, p at, depth int) bool {
	at := p
	at.offset = l.node.Place().Start.Offset
	if l.ran != nil {
		at.order = l.ran.Order
	}
	t.chain = append(t.chain, l)
	t.leaves[name] = nil
	return t.read(l.value, at, depth-1)
}

// bound returns the only statement that binds a name: of the function, or at the top of a cell.
func (t *spread) bound(name string, p at) *link {
	if p.in == nil {
		all := t.binds[name]
		if len(all) != 1 || all[0].order >= p.order && all[0].at >= p.offset || !isAssigned(all[0]) || t.shared[name] {
			return nil
		}
		return &link{name: name, cell: all[0].s.Cell, node: all[0].s.Node, value: all[0].value, ran: all[0].s}
	}
	var found *link
	for _, st := range p.in.def.Body {
		one, value, ok := assigned(st)
		if !ok || one != name {
			continue
		}
		if found != nil {
			return nil
		}
		found = &link{name: name, cell: t.p.cell, node: st, value: value}
	}
	return found
}

// onlyShape reports whether one place reads the array of a name, and all others only its shape.
func (t *spread) onlyShape(l *link) bool {
	if l.ran != nil {
		of := t.used[l.name]
		if t.blind || of == nil {
			return false
		}
		l.shapes = of.shapes
		return of.count == 2 // where it is bound, and where it is read
	}
	count := 0
	t.walk(t.p.in.def, func(n syntax.Node) bool {
		if a, ok := n.(*syntax.Attribute); ok && a.Attr == "shape" && isNamed(a.Value, l.name) {
			l.shapes = append(l.shapes, shape{l.cell, a})
			return false
		}
		if isNamed(n, l.name) {
			count++
		}
		return true
	})
	return count == 2
}

// stays reports whether nothing changes the two arrays between the statements of the chain and the last one.
func (t *spread) stays() bool {
	if len(t.chain) == 0 {
		return true
	}
	first := t.chain[len(t.chain)-1]
	if first.ran == nil {
		body := t.p.in.def.Body
		from, to := slices.Index(body, first.node), slices.Index(body, t.p.node)
		return from >= 0 && to >= 0 && !slices.ContainsFunc(body[from:to], t.disturbs)
	}
	for _, st := range t.n.Statements {
		if st.Order >= first.ran.Order && st.Order < t.p.running.Order && (st.Node == nil || t.disturbs(st.Node)) {
			return false
		}
	}
	return len(t.p.path) == 0
}

// disturbs reports whether a statement may change one of the two arrays.
func (t *spread) disturbs(node syntax.Stmt) bool {
	if isDefinition(node) || slices.ContainsFunc(t.chain, func(l *link) bool { return l.node == node }) {
		return false
	}
	for _, one := range []*side{t.x, t.y} {
		name, _, _ := strings.Cut(one.text, ".")
		if t.mentions(node, name) && t.changes(node, name) {
			return true
		}
	}
	return false
}

// code returns the source of an expression with other code in the place of some parts of it.
func (t *spread) code(c *evidence.Cell, e syntax.Expr, texts map[syntax.Expr]string) (string, bool) {
	type part struct {
		node syntax.Expr
		text string
	}
	var parts []part
	ok := true
	t.walk(e, func(node syntax.Node) bool {
		one, isExpr := node.(syntax.Expr)
		if !isExpr {
			return true
		}
		if text, found := texts[one]; found {
			parts = append(parts, part{one, text})
			return false
		}
		if of, leaf := t.leaves[one]; leaf && of == nil {
			i := slices.IndexFunc(t.chain, func(l *link) bool { return isNamed(one, l.name) })
			inner, fits := t.code(t.chain[i].cell, t.chain[i].value, texts)
			ok = ok && fits
			parts = append(parts, part{one, "(" + inner + ")"})
			return false
		}
		return true
	})
	slices.SortFunc(parts, func(a, b part) int {
		return cmp.Compare(b.node.Place().Start.Offset, a.node.Place().Start.Offset)
	})
	text, start := c.Text(e), e.Place().Start.Offset
	for _, p := range parts {
		from, to := p.node.Place().Start.Offset-start, p.node.Place().End.Offset-start
		if from < 0 || to > len(text) || from > to {
			return "", false
		}
		text = text[:from] + p.text + text[to:]
	}
	return text, ok && !strings.Contains(text, "\n") && !strings.Contains(text, "#")
}
