package arrays

import (
	"ipytracer/attribution/advice/evidence"
	"ipytracer/attribution/syntax"
	"ipytracer/model/words"
)

// sums has the rules about reductions that can do without an array of products, squares or chosen elements.
type sums struct{ *finder }

// factors returns the two arrays that an expression multiplies, element by element: a * b, a ** 2, np.square(a).
func (s sums) factors(e syntax.Expr) (a, b syntax.Expr, ok bool) {
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
func (s sums) squares(e syntax.Expr) (a, b syntax.Expr, ok bool) {
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
func (s sums) hypotenuse(p *place) (c evidence.Candidate, ok bool) {
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
	c.Edits = replaced(p.cell, root, s.module()+".hypot("+p.cell.Text(a)+", "+p.cell.Text(b)+")")
	c.Title = words.Hypotenuse(v.bytes, saves)
	c.Changes = []string{words.LastDigits(v.dtype)}
	return c, c.Edits != nil
}

// product is about np.sum(a * b), which np.vdot computes without an array of products. It would copy arrays that are
// not one piece of memory in the order of their axes; fresh ones are.
func (s sums) product(p *place) (c evidence.Candidate, ok bool) {
	var a, b syntax.Expr
	mean := false
	sum := s.only(p.node, func(x *syntax.Call) bool {
		of := s.reduced(x)
		name := s.numpy(x.Func)
		if _, method, _ := s.method(x); name == "" {
			name = method
		}
		if of == nil || s.hasAxis(x) || name != "sum" && name != "mean" {
			return false
		}
		one, other, ok := s.factors(of)
		if ok {
			a, b, mean = one, other, name == "mean"
		}
		return ok
	})
	if sum == nil || s.module() == "" || mean && !isPath(a) {
		return c, false
	}
	v, w := s.of(a, p.at()), s.of(b, p.at())
	if !v.fresh || !w.fresh || !v.isFloat() || v.dtype != w.dtype || !v.sameSize(w) || v.bytes < least {
		return c, false
	}
	saves := p.saves(0, 0)
	if saves < max(least, v.bytes/2) || p.live > v.bytes+v.bytes/2 {
		return c, false
	}
	text := s.module() + ".vdot(" + p.cell.Text(a) + ", " + p.cell.Text(b) + ")"
	if mean {
		text = "(" + text + " / " + p.cell.Text(a) + ".size)"
	}
	c = p.candidate(Product, nil, saves)
	c.Edits = replaced(p.cell, sum, text)
	c.Title = words.SumOfProducts(v.bytes)
	c.Changes = []string{words.SumDigits(v.dtype, elements(v))}
	return c, c.Edits != nil
}

// masked is about a[mask].sum(): where= needs no copy of the elements.
func (s sums) masked(p *place) (c evidence.Candidate, ok bool) {
	var of *syntax.Subscript
	name := ""
	sum := s.only(p.node, func(x *syntax.Call) bool {
		sub, ok := s.reduced(x).(*syntax.Subscript)
		if !ok || s.hasAxis(x) || !isPath(sub.Value) {
			return false
		}
		if name = s.numpy(x.Func); name == "" {
			_, name, _ = s.method(x)
		}
		of = sub
		return name == "sum" || name == "mean"
	})
	if sum == nil || s.module() == "" {
		return c, false
	}
	v := s.of(of.Value, p.at())
	mask, bytes := s.maskOf(of.Slice, v, p)
	if v.sort != array || !v.isFloat() || v.bytes < least || mask == "" {
		return c, false
	}
	saves := p.saves(bytes, 0)
	if saves < max(least, v.bytes/16) {
		return c, false
	}
	c = p.candidate(Masked, nil, saves)
	c.Edits = replaced(p.cell, sum, s.module()+"."+name+"("+p.cell.Text(of.Value)+", where="+mask+")")
	c.Title = words.MaskedSum(saves)
	c.Changes = []string{words.LastDigits(v.dtype)}
	return c, c.Edits != nil
}

// maskOf returns the source of an index that is a mask of an array, and the memory of its evaluation.
func (s sums) maskOf(e syntax.Expr, v value, p *place) (text string, bytes int64) {
	text, ok := flat(p.cell, e)
	if !ok {
		return "", 0
	}
	switch x := e.(type) {
	case *syntax.Compare:
		if len(x.Ops) != 1 || !isPath(x.Left) || !isPath(x.Comparators[0]) || !s.of(x.Left, p.at()).sameSize(v) {
			return "", 0
		}
		return text, elements(v)
	case *syntax.Name:
		m := s.of(x, p.at())
		if m.dtype == "bool" && m.sameSize(v) {
			return text, 0
		}
	}
	return "", 0
}
