package arrays

import (
	"slices"
	"strings"

	"ipytracer/internal/syntax"
)

// cost is the memory that the evaluation of an expression needs: temps at its highest moment, with its result, and held
// by its result.
type cost struct{ temps, held int64 }

// costOf returns an upper bound on the memory of arrays that the evaluation of an expression makes. ok is false where
// that is not known.
func (s *values) costOf(expr syntax.Expr, p at) (c cost, ok bool) {
	if !s.step() {
		return cost{}, false
	}
	switch x := expr.(type) {
	case *syntax.Constant, *syntax.Name, *syntax.Attribute:
		return cost{}, isPath(expr)
	case *syntax.Subscript:
		return cost{}, isPath(x.Value) && isBasic(x.Slice)
	case *syntax.UnaryOp:
		return s.costOfParts(expr, p, x.Operand)
	case *syntax.BinOp:
		return s.costOfParts(expr, p, x.Left, x.Right)
	case *syntax.Call:
		return s.costOfCall(x, p)
	}
	return cost{}, false
}

// isPath reports whether an expression only reads names and attributes.
func isPath(expr syntax.Expr) bool {
	switch x := expr.(type) {
	case *syntax.Constant, *syntax.Name:
		return true
	case *syntax.Attribute:
		return isPath(x.Value)
	}
	return false
}

// isBasic reports whether indexing with an expression needs no memory: it makes a view, or returns one element.
func isBasic(expr syntax.Expr) bool {
	switch x := expr.(type) {
	case nil:
		return true
	case *syntax.Constant:
		return true
	case *syntax.UnaryOp:
		return isBasic(x.Operand)
	case *syntax.Slice:
		return isBasic(x.Lower) && isBasic(x.Upper) && isBasic(x.Step)
	case *syntax.Attribute: // np.newaxis
		return x.Attr == "newaxis"
	case *syntax.Tuple:
		for _, one := range x.Elts {
			if !isBasic(one) {
				return false
			}
		}
		return true
	}
	return false
}

// costOfParts adds the result of an operation to what its operands need, one after the other. NumPy may write the
// result into an operand, so this is an upper bound.
func (s *values) costOfParts(expr syntax.Expr, p at, parts ...syntax.Expr) (c cost, ok bool) {
	var held int64
	for _, part := range parts {
		of, ok := s.costOf(part, p)
		if !ok {
			return cost{}, false
		}
		c.temps = max(c.temps, held+of.temps)
		held += of.held
	}
	v := s.of(expr, p)
	switch {
	case v.sort == scalar:
		return cost{temps: max(c.temps, held)}, true
	case v.sort == array && v.bytes > 0:
		return cost{temps: max(c.temps, held+v.bytes), held: v.bytes}, true
	}
	return cost{}, false
}

func (s *values) costOfCall(call *syntax.Call, p at) (c cost, ok bool) {
	if name := s.numpy(call.Func); name != "" {
		if (reductions[name] || copying[name]) && len(call.Args) > 0 {
			return s.costOfReduction(name, call.Args[0], call, p)
		}
		if (unary[name] || binary[name]) && len(call.Keywords) == 0 {
			return s.costOfParts(call, p, call.Args...)
		}
		return s.costOfNew(call, p)
	}
	switch s.full(call.Func) {
	case "builtins.len", "builtins.int", "builtins.float":
		return s.costOfParts(call, p, call.Args...)
	}
	of, name, _ := s.method(call)
	if of != nil && (reductions[name] || copying[name]) {
		return s.costOfReduction(name, of, call, p)
	}
	return s.costOfNew(call, p)
}

// isNew reports whether an expression makes an array of zeros or of random numbers: that needs only the array's own
// memory.
func (s *values) isNew(expr syntax.Expr, p at) bool {
	call, ok := expr.(*syntax.Call)
	if !ok {
		return false
	}
	args := slices.Clone(call.Args)
	for _, k := range call.Keywords {
		args = append(args, k.Value)
	}
	for _, arg := range args {
		if v := s.of(arg, p); v.sort == array || !isConstant(arg) {
			return false
		}
	}
	if name := s.numpy(call.Func); name != "" {
		return shaped[name] || strings.HasPrefix(name, "random.")
	}
	of, _, _ := s.method(call)
	return of != nil && s.isGenerator(of, p)
}

// isConstant reports whether an expression has only names and numbers, so that its evaluation costs nothing.
func isConstant(expr syntax.Expr) bool {
	switch x := expr.(type) {
	case *syntax.Tuple:
		return !slices.ContainsFunc(x.Elts, func(one syntax.Expr) bool { return !isConstant(one) })
	case *syntax.BinOp:
		return isConstant(x.Left) && isConstant(x.Right)
	case *syntax.UnaryOp:
		return isConstant(x.Operand)
	case *syntax.Call: // int(1e6)
		f, ok := x.Func.(*syntax.Name)
		return ok && f.ID == "int" && len(x.Args) == 1 && len(x.Keywords) == 0 && isConstant(x.Args[0])
	}
	return isPath(expr)
}

// isOrdered reports whether the steps of an expression draw the same random numbers in another order: they do if the
// expression draws once at most.
func (s *values) isOrdered(expr syntax.Expr, p at) bool {
	draws := 0
	s.walk(expr, func(n syntax.Node) bool {
		if x, ok := n.(*syntax.Call); ok && s.isNew(x, p) {
			draws++
		}
		return true
	})
	return draws < 2
}

// costOfNew returns the size of a new array.
func (s *values) costOfNew(call *syntax.Call, p at) (c cost, ok bool) {
	v := s.of(call, p)
	if v.sort != array || v.shape == nil || v.bytes == 0 || !s.isNew(call, p) {
		return cost{}, false
	}
	return cost{temps: v.bytes, held: v.bytes}, true
}

// costOfReduction returns the memory that a sum, or a standard deviation, needs. Along an axis the result is at most
// half as large.
func (s *values) costOfReduction(name string, of syntax.Expr, call *syntax.Call, p at) (c cost, ok bool) {
	c, ok = s.costOf(of, p)
	v := s.of(of, p)
	if !ok || v.sort != array || v.bytes == 0 {
		return cost{}, false
	}
	temps := c.held
	if copying[name] {
		temps += v.bytes
	}
	out := cost{temps: max(c.temps, temps)}
	if s.hasAxis(call) {
		out.held = s.alongAxis(v, call)
		out.temps += out.held
	}
	return out, true
}

// hasAxis reports whether a reduction has further arguments beside its array: it may then return an array.
func (s *values) hasAxis(call *syntax.Call) bool {
	args := len(call.Args)
	if s.numpy(call.Func) != "" {
		args--
	}
	return args > 0 || len(call.Keywords) > 0
}

// alongAxis returns a bound on the size of a reduction's result.
func (s *values) alongAxis(v value, call *syntax.Call) int64 {
	axis := call.Keyword("axis")
	if constant, ok := axis.(*syntax.Constant); ok && v.shape != nil {
		for i, d := range v.shape {
			if constant.Text == string(rune('0'+i)) && d > 0 {
				return v.bytes / d
			}
		}
	}
	return v.bytes / 2
}
