package arrays

import (
	"ipytracer/internal/advice/evidence"
	"ipytracer/internal/syntax"
	"ipytracer/internal/words"
)

// factors returns the two arrays that an expression multiplies, element by element: a * b, a ** 2, np.square(a).
func (s *finder) factors(e syntax.Expr) (a, b syntax.Expr, ok bool) {
	switch x := e.(type) {
	case *syntax.BinOp:
		if x.Op == "*" {
			return x.Left, x.Right, isPath(x.Left) && isPath(x.Right)
		}
		if c, ok := x.Right.(*syntax.Constant); ok && x.Op == "**" && (c.Text == "2" || c.Text == "2.0") {
			return x.Left, x.Left, isPath(x.Left)
		}
	case *syntax.Call:
		if name, c := s.call(x); c != nil && len(c.Keywords) == 0 {
			if name == "square" && len(c.Args) == 1 {
				return c.Args[0], c.Args[0], isPath(c.Args[0])
			}
			if name == "multiply" && len(c.Args) == 2 {
				return c.Args[0], c.Args[1], isPath(c.Args[0]) && isPath(c.Args[1])
			}
		}
	}
	return nil, nil, false
}

// squares returns the two arrays of a**2 + b**2.
func (s *finder) squares(e syntax.Expr) (a, b syntax.Expr, ok bool) {
	sum, ok := e.(*syntax.BinOp)
	if !ok || sum.Op != "+" {
		return nil, nil, false
	}
	a, a2, ok := s.factors(sum.Left)
	b, b2, ok2 := s.factors(sum.Right)
	return a, b, ok && ok2 && sameText(a, a2) && sameText(b, b2)
}

// sameText reports whether two expressions are the same name, or the same path of attributes.
func sameText(a, b syntax.Expr) bool {
	switch x := a.(type) {
	case *syntax.Name:
		y, ok := b.(*syntax.Name)
		return ok && x.ID == y.ID
	case *syntax.Attribute:
		y, ok := b.(*syntax.Attribute)
		return ok && x.Attr == y.Attr && sameText(x.Value, y.Value)
	}
	return false
}

// only returns the only call in a statement for which a function says yes.
func (s *scene) only(node syntax.Stmt, is func(*syntax.Call) bool) (found *syntax.Call) {
	n := 0
	s.walk(node, func(node syntax.Node) bool {
		if c, ok := node.(*syntax.Call); ok && is(c) {
			found = c
			n++
		}
		return true
	})
	if n != 1 {
		return nil
	}
	return found
}

// hypotenuse is about np.sqrt(a**2 + b**2), which np.hypot computes without intermediate arrays.
func (s *finder) hypotenuse(p *place) (c evidence.Candidate, ok bool) {
	var a, b syntax.Expr
	root := s.only(p.node, func(x *syntax.Call) bool {
		name, call := s.call(x)
		if call == nil || name != "sqrt" || len(call.Args) != 1 || len(call.Keywords) > 0 {
			return false
		}
		one, other, ok := s.squares(call.Args[0])
		if ok {
			a, b = one, other
		}
		return ok
	})
	if root == nil || s.module() == "" {
		return c, false
	}
	v, w := s.of(a, p.at()), s.of(b, p.at())
	if v.sort != array || !v.isFloat() || v.dtype != w.dtype || !v.sameSize(w) || v.bytes < least {
		return c, false
	}
	saves := p.saves(v.bytes, v.bytes)
	if saves < max(least, v.bytes/2) || p.live > 3*v.bytes+least && p.isOnce() {
		return c, false
	}
	c = p.candidate(InPlace, nil, saves)
	c.Edits = evidence.ReplaceNode(p.cell, root, s.module()+".hypot("+p.cell.Text(a)+", "+p.cell.Text(b)+")")
	c.Title = words.Hypotenuse(v.bytes, saves)
	c.Changes = []string{words.LastDigits(v.dtype)}
	return c, c.Edits != nil
}
