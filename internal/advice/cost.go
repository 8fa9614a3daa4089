package advice

import (
	"slices"
	"strings"

	"ipytracer/internal/syntax"
)

// cost is the memory of arrays that the evaluation of an expression makes, in bytes.
type cost struct {
	peak int64 // lives at the highest moment of the evaluation, the result included
	held int64 // of the result
}

// costOf returns an upper bound on the cost of an expression. ok is false where no bound is known.
func (s *values) costOf(expr syntax.Expr, p position) (c cost, ok bool) {
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

// isBasic reports whether an index makes no copy: NumPy returns a view, or one element.
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
		return !slices.ContainsFunc(x.Elts, func(element syntax.Expr) bool { return !isBasic(element) })
	}
	return false
}

// costOfParts returns the cost of an operation whose operands are evaluated one after the other. It is an upper bound:
// NumPy may write the result into an operand.
func (s *values) costOfParts(expr syntax.Expr, p position, parts ...syntax.Expr) (c cost, ok bool) {
	var held int64
	for _, part := range parts {
		ofPart, ok := s.costOf(part, p)
		if !ok {
			return cost{}, false
		}
		c.peak = max(c.peak, held+ofPart.peak)
		held += ofPart.held
	}
	v := s.valueOf(expr, p)
	switch {
	case v.sort == scalar:
		return cost{peak: max(c.peak, held)}, true
	case v.sort == array && v.bytes > 0:
		return cost{peak: max(c.peak, held+v.bytes), held: v.bytes}, true
	}
	return cost{}, false
}

func (s *values) costOfCall(call *syntax.Call, p position) (c cost, ok bool) {
	if name := s.numpyName(call.Func); name != "" {
		if (reductions[name] || copiers[name]) && len(call.Args) > 0 {
			return s.costOfReduction(name, call.Args[0], call, p)
		}
		if (unary[name] || binary[name]) && len(call.Keywords) == 0 {
			return s.costOfParts(call, p, call.Args...)
		}
		return s.costOfNew(call, p)
	}
	switch s.fullName(call.Func) {
	case "builtins.len", "builtins.int", "builtins.float":
		return s.costOfParts(call, p, call.Args...)
	}
	object, name, _ := s.method(call)
	if object != nil && (reductions[name] || copiers[name]) {
		return s.costOfReduction(name, object, call, p)
	}
	return s.costOfNew(call, p)
}

// isNew reports whether an expression makes an array of zeros or of random numbers: that needs only the array's own
// memory.
func (s *values) isNew(expr syntax.Expr, p position) bool {
	call, ok := expr.(*syntax.Call)
	if !ok {
		return false
	}
	args := slices.Clone(call.Args)
	for _, k := range call.Keywords {
		args = append(args, k.Value)
	}
	for _, arg := range args {
		if v := s.valueOf(arg, p); v.sort == array || !isConstant(arg) {
			return false
		}
	}
	if name := s.numpyName(call.Func); name != "" {
		return shaped[name] || strings.HasPrefix(name, "random.")
	}
	object, _, _ := s.method(call)
	return object != nil && s.isGenerator(object, p)
}

// isConstant reports whether an expression has only names and numbers: its evaluation makes no arrays.
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

// isOrdered reports whether an expression gives the same numbers when its parts are evaluated in another order. It does
// if it draws random numbers at most once.
func (s *values) isOrdered(expr syntax.Expr, p position) bool {
	draws := 0
	s.walk(expr, func(n syntax.Node) bool {
		if x, ok := n.(*syntax.Call); ok && s.isNew(x, p) {
			draws++
		}
		return true
	})
	return draws < 2
}

// costOfNew returns the cost of a call that makes an array of zeros or of random numbers.
func (s *values) costOfNew(call *syntax.Call, p position) (c cost, ok bool) {
	v := s.valueOf(call, p)
	if v.sort != array || v.shape == nil || v.bytes == 0 || !s.isNew(call, p) {
		return cost{}, false
	}
	return cost{peak: v.bytes, held: v.bytes}, true
}

// costOfReduction returns the cost of a reduction of an array, such as a sum or a standard deviation.
func (s *values) costOfReduction(name string, object syntax.Expr, call *syntax.Call, p position) (c cost, ok bool) {
	c, ok = s.costOf(object, p)
	v := s.valueOf(object, p)
	if !ok || v.sort != array || v.bytes == 0 {
		return cost{}, false
	}
	duringReduction := c.held
	if copiers[name] {
		duringReduction += v.bytes
	}
	out := cost{peak: max(c.peak, duringReduction)}
	if s.hasAxis(call) {
		out.held = s.alongAxis(v, call)
		out.peak += out.held
	}
	return out, true
}

// hasAxis reports whether a reduction has further arguments beside its array: it may then return an array.
func (s *values) hasAxis(call *syntax.Call) bool {
	args := len(call.Args)
	if s.numpyName(call.Func) != "" {
		args--
	}
	return args > 0 || len(call.Keywords) > 0
}

// alongAxis returns a bound on the size of the result of a reduction along an axis: half of the array if the axis is
// not known.
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
