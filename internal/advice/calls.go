package advice

import (
	"strings"

	"ipytracer/internal/syntax"
)

// resultOf returns what is known about the result of a call.
func (s *values) resultOf(call *syntax.Call, p position, depth int) value {
	if name := s.numpyName(call.Func); name != "" {
		return s.numpyCall(name, call, p, depth)
	}
	switch s.fullName(call.Func) {
	case "builtins.len", "builtins.int":
		return value{sort: scalar, dtype: "int"}
	case "builtins.float":
		return value{sort: scalar, dtype: "float"}
	}
	object, name, _ := s.method(call)
	if object == nil {
		return value{}
	}
	if s.isGenerator(object, p) {
		return s.randomResult(name, call, p, depth)
	}
	v := s.infer(object, p, depth-1)
	switch {
	case v.sort != array:
	case name == "copy":
		v.fresh = true
		return v
	case name == "clip" && len(call.Args) == 2 || name == "round" && len(call.Args) < 2 && len(call.Keywords) == 0:
		v.fresh = true
		return v
	case name == "astype" && len(call.Args) == 1:
		v.dtype, v.bytes = dtypeOf(s, call.Args[0]), 0
		v.fresh = call.Keyword("copy") == nil
		if v.shape != nil {
			v.bytes = elements(v) * itemSize(v.dtype)
		}
		return v
	case (reductions[name] || copiers[name]) && len(call.Args) == 0 && len(call.Keywords) == 0:
		return value{sort: scalar, dtype: scalarOf(v.dtype, name)}
	}
	return value{}
}

// scalarOf returns the dtype of the number that a reduction of a whole array returns.
func scalarOf(dtype, name string) string {
	if isInteger(dtype) && name != "mean" && !copiers[name] {
		return "int"
	}
	return "float"
}

// numpyCall returns what is known about the result of a call of the NumPy function name.
func (s *values) numpyCall(name string, call *syntax.Call, p position, depth int) value {
	arg := func(i int) value {
		if i >= len(call.Args) {
			return value{}
		}
		return s.infer(call.Args[i], p, depth-1)
	}
	first := arg(0)
	switch {
	case shaped[name]:
		v := value{sort: array, dtype: dtypeAt(s, call, 1, "float64"), fresh: true}
		return s.withShape(v, sizeAt(call, "shape", 0), p, depth-1)
	case name == "full":
		v := value{sort: array, dtype: dtypeAt(s, call, 2, ""), fresh: true}
		if v.dtype == "" {
			v.dtype = map[string]string{"int": "int64", "float": "float64", "bool": "bool"}[arg(1).dtype]
		}
		return s.withShape(v, sizeAt(call, "shape", 0), p, depth-1)
	case name == "linspace" || name == "logspace":
		v := value{sort: array, dtype: dtypeAt(s, call, 5, "float64"), fresh: true}
		return s.withShape(v, sizeAt(call, "num", 2), p, depth-1)
	case name == "arange":
		kind := "int64"
		for i := range call.Args {
			if d := arg(i).dtype; d != "int" {
				kind = map[string]string{"float": "float64"}[d]
			}
		}
		return value{sort: array, dtype: dtypeAt(s, call, 3, kind), fresh: true}
	case strings.HasPrefix(name, "random."):
		return s.randomResult(strings.TrimPrefix(name, "random."), call, p, depth)
	case likes[name] && first.sort == array && call.Keyword("dtype") == nil:
		first.fresh = name != "ascontiguousarray"
		return first
	case unary[name] && len(call.Keywords) == 0:
		first.fresh = true
		if isInteger(first.dtype) && floating[name] {
			first.dtype, first.bytes = "float64", elements(first)*8
		}
		return first
	case binary[name] && len(call.Keywords) == 0:
		op := "+"
		if strings.HasSuffix(name, "divide") {
			op = "/"
		}
		return s.operation(first, arg(1), op)
	case name == "clip" || name == "round" || name == "around":
		first.fresh = true
		return first
	case (reductions[name] || copiers[name]) && first.sort == array && len(call.Keywords) == 0 && len(call.Args) == 1:
		return value{sort: scalar, dtype: scalarOf(first.dtype, name)}
	}
	return value{}
}

// isGenerator reports whether an expression is a generator of random numbers of NumPy.
func (s *values) isGenerator(expr syntax.Expr, p position) bool {
	if name, ok := expr.(*syntax.Name); ok {
		b, ok := s.bindingAt(name.ID, p.order, p.offset)
		if !ok {
			return false
		}
		expr = b.value
	}
	call, _ := s.callOfNumPy(expr)
	return call == "random.default_rng" || call == "random.RandomState"
}

// randomResult returns what is known about the result of a call that draws random numbers. name is a function of
// numpy.random, or a method of a generator.
func (s *values) randomResult(name string, call *syntax.Call, p position, depth int) value {
	place, kind := 0, ""
	if at, ok := draws[name]; ok {
		place, kind = at, "float64"
	} else if at, ok := integerDraws[name]; ok {
		place, kind = at, "int64"
	} else {
		return value{}
	}
	if call.Keyword("size") == nil && len(call.Args) <= place {
		return value{sort: scalar, dtype: map[string]string{"float64": "float", "int64": "int"}[kind]}
	}
	if d := call.Keyword("dtype"); d != nil {
		kind = dtypeOf(s, d)
	}
	v := value{sort: array, dtype: kind, fresh: true}
	if name == "rand" || name == "randn" { // each argument is a dimension
		return s.withShape(v, &syntax.Tuple{Elts: call.Args}, p, depth-1)
	}
	return s.withShape(v, sizeAt(call, "size", place), p, depth-1)
}

// dtypeAt returns the dtype that a call names by keyword, or by the positional argument with index place; fallback if
// it names none.
func dtypeAt(s *values, call *syntax.Call, place int, fallback string) string {
	if d := call.Keyword("dtype"); d != nil {
		return dtypeOf(s, d)
	}
	if place < len(call.Args) {
		return dtypeOf(s, call.Args[place])
	}
	return fallback
}

// dtypeOf returns the dtype that an expression names; "" if it is not known.
func dtypeOf(s *values, expr syntax.Expr) string {
	name := ""
	switch x := expr.(type) {
	case *syntax.Constant:
		name = map[string]string{"f4": "float32", "f8": "float64", "i8": "int64", "i4": "int32", "u1": "uint8",
			"float": "float64", "int": "int64"}[x.Value]
		if name == "" {
			name = x.Value
		}
	case *syntax.Name:
		name = map[string]string{"float": "float64", "int": "int64", "bool": "bool"}[x.ID]
		if name == "" {
			name = s.numpyName(x)
		}
	case *syntax.Attribute:
		if name = s.numpyName(x); name == "bool_" {
			name = "bool"
		}
	}
	if itemSize(name) == 0 {
		return ""
	}
	return name
}
