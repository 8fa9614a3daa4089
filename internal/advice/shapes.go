package advice

import (
	"math"
	"strconv"
	"strings"

	"ipytracer/internal/syntax"
)

// withShape returns v with the shape and the bytes that an argument of its call names, where the source has the
// numbers.
func (s *values) withShape(v value, shape syntax.Expr, p position, depth int) value {
	if v.shape = s.dimensions(shape, p, depth); v.shape != nil {
		v.bytes, v.fromSource = elements(v)*itemSize(v.dtype), true
	}
	return v
}

// sizeAt returns the argument of a call that names a shape, by keyword or by the index place; nil if there is none.
func sizeAt(call *syntax.Call, name string, place int) syntax.Expr {
	if e := call.Keyword(name); e != nil {
		return e
	}
	if place < len(call.Args) {
		return call.Args[place]
	}
	return nil
}

// dimensions returns the shape that an expression names: a number, or several in a tuple or a list. It returns nil if a
// number is not known.
func (s *values) dimensions(expr syntax.Expr, p position, depth int) []int64 {
	parts := []syntax.Expr{expr}
	switch x := expr.(type) {
	case *syntax.Tuple:
		parts = x.Elts
	case *syntax.List:
		parts = x.Elts
	}
	var out []int64
	for _, part := range parts {
		n, ok := s.number(part, p, depth)
		if !ok || n < 0 || n > maxElements || n != math.Trunc(n) {
			return nil
		}
		out = append(out, int64(n))
	}
	return out
}

// number returns the value of an expression of numbers in the source: 1_000_000, 10 ** 6, int(1e6), or a name that is
// bound to such an expression.
func (s *values) number(expr syntax.Expr, p position, depth int) (n float64, ok bool) {
	if depth == 0 || expr == nil || !s.step() {
		return 0, false
	}
	switch x := expr.(type) {
	case *syntax.Constant:
		if x.Kind == "int" || x.Kind == "float" {
			n, err := strconv.ParseFloat(strings.ReplaceAll(x.Text, "_", ""), 64)
			return n, err == nil
		}
	case *syntax.Name:
		return s.numberOf(x.ID, p, depth-1)
	case *syntax.BinOp:
		a, known := s.number(x.Left, p, depth-1)
		b, ok := s.number(x.Right, p, depth-1)
		return calculated(a, b, x.Op, known && ok)
	case *syntax.Call:
		if s.fullName(x.Func) == "builtins.int" && len(x.Args) == 1 && len(x.Keywords) == 0 {
			n, ok := s.number(x.Args[0], p, depth-1)
			return math.Trunc(n), ok
		}
	}
	return 0, false
}

// calculated returns the result of an operation. known is false for unknown operands or operators, and for results that
// are no finite number.
func calculated(a, b float64, op string, ok bool) (n float64, known bool) {
	switch op {
	case "+":
		n = a + b
	case "-":
		n = a - b
	case "*":
		n = a * b
	case "/":
		n = a / b
	case "//":
		n = math.Floor(a / b)
	case "**":
		n = math.Pow(a, b)
	default:
		return 0, false
	}
	return n, ok && !math.IsNaN(n) && !math.IsInf(n, 0)
}

// numberOf returns the number to which a name is bound at a position.
func (s *values) numberOf(name string, p position, depth int) (n float64, ok bool) {
	if s.global[name] || s.augmented[name] {
		return 0, false
	}
	b, ok := s.bindingAt(name, p.order, p.offset)
	if !ok {
		return 0, false
	}
	return s.number(b.value, position{order: b.order, offset: b.at}, depth)
}
