package arrays

import (
	"strconv"

	"ipytracer/attribution/advice/evidence"
	"ipytracer/attribution/syntax"
	"ipytracer/model/words"
)

// productsAlong is about (a * b).sum(axis=1), and the norm of each row, which np.einsum computes without an array of
// products.
func (s sums) productsAlong(p *place) (c evidence.Candidate, ok bool) {
	var found along
	sum := s.only(p.node, func(x *syntax.Call) bool {
		one, ok := s.along(x, p)
		if ok {
			found = one
		}
		return ok
	})
	if sum == nil || s.module() == "" {
		return c, false
	}
	v := found.value
	result := v.bytes / v.shape[found.axis]
	saves := p.saves(result, 0)
	if saves < max(least, v.bytes/2) || p.isOnce() && p.live > 3*v.bytes+least {
		return c, false
	}
	c = p.candidate(Product, nil, saves)
	c.Edits = replaced(p.cell, sum, found.code(s.module(), p.cell))
	c.Title = words.SumsOfProducts(v.bytes)
	c.Changes = []string{words.SumDigits(v.dtype, v.shape[found.axis])}
	return c, c.Edits != nil
}

// along is a sum of products along an axis.
type along struct {
	a, b  syntax.Expr
	value value // of both
	axis  int
	name  string // sum, mean or linalg.norm
}

// along reads a call; ok is false where it is no sum of products of arrays of the same known shape and dtype.
func (s sums) along(x *syntax.Call, p *place) (of along, ok bool) {
	name, args := s.numpy(x.Func), x.Args
	var e syntax.Expr
	if name == "" {
		e, name, _ = s.method(x)
	} else if len(args) > 0 {
		e, args = args[0], args[1:]
	}
	axis := keyword(x, "axis")
	if axis == nil && len(args) == 1 && name != "linalg.norm" {
		axis, args = args[0], nil
	} else if len(x.Keywords) != 1 {
		return of, false
	}
	if e == nil || axis == nil || len(args) > 0 || axis != keyword(x, "axis") && len(x.Keywords) > 0 {
		return of, false
	}
	of.name = name
	switch name {
	case "sum", "mean":
		of.a, of.b, ok = s.factors(e)
	case "linalg.norm":
		of.a, of.b, ok = e, e, isPath(e)
	}
	if !ok {
		return of, false
	}
	v, w := s.of(of.a, p.at()), s.of(of.b, p.at())
	of.value = v
	if !v.isFloat() || v.dtype != w.dtype || v.shape == nil || !v.sameSize(w) || v.bytes < least {
		return of, false
	}
	of.axis, ok = axisOf(axis, len(v.shape))
	return of, ok && len(v.shape) > 1 && len(v.shape) <= 4 && v.shape[of.axis] > 1
}

// axisOf returns the number of an axis, from 0, by code such as 1 or -1.
func axisOf(e syntax.Expr, axes int) (axis int, ok bool) {
	sign := 1
	if u, isUnary := e.(*syntax.UnaryOp); isUnary && u.Op == "-" {
		e, sign = u.Operand, -1
	}
	c, ok := e.(*syntax.Constant)
	if !ok || c.Kind != "int" {
		return 0, false
	}
	axis, err := strconv.Atoi(c.Text)
	if axis *= sign; axis < 0 {
		axis += axes
	}
	return axis, err == nil && axis >= 0 && axis < axes
}

// code returns the call of np.einsum that computes it.
func (of along) code(np string, c *evidence.Cell) string {
	axes := "ijkl"[:len(of.value.shape)]
	text := np + `.einsum("` + axes + "," + axes + "->" + axes[:of.axis] + axes[of.axis+1:] + `", ` + c.Text(of.a) +
		", " + c.Text(of.b) + ")"
	switch of.name {
	case "mean":
		return "(" + text + " / " + c.Text(of.a) + ".shape[" + strconv.Itoa(of.axis) + "])"
	case "linalg.norm":
		return np + ".sqrt(" + text + ")"
	}
	return text
}
