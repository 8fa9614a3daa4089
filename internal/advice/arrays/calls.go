package arrays

import (
	"strings"

	"ipytracer/internal/syntax"
)

// called returns what is known about the result of a call.
func (s *values) called(x *syntax.Call, p at, depth int) value {
	if name := s.numpy(x.Func); name != "" {
		return s.numpyCall(name, x, p, depth)
	}
	switch s.full(x.Func) {
	case "builtins.len", "builtins.int":
		return value{sort: scalar, dtype: "int"}
	case "builtins.float":
		return value{sort: scalar, dtype: "float"}
	}
	of, name, _ := s.method(x)
	if of == nil {
		return value{}
	}
	if s.isGenerator(of, p) {
		return s.drawn(name, x, p, depth)
	}
	v := s.infer(of, p, depth-1)
	switch {
	case v.sort != array:
	case name == "copy":
		v.fresh = true
		return v
	case name == "clip" && len(x.Args) == 2 || name == "round" && len(x.Args) < 2 && len(x.Keywords) == 0:
		v.fresh = true
		return v
	case name == "astype" && len(x.Args) == 1:
		v.dtype, v.bytes = dtypeOf(s, x.Args[0]), 0
		v.fresh = x.Keyword("copy") == nil
		if v.shape != nil {
			v.bytes = elements(v) * itemSize(v.dtype)
		}
		return v
	case (reductions[name] || copying[name]) && len(x.Args) == 0 && len(x.Keywords) == 0:
		return value{sort: scalar, dtype: scalarOf(v.dtype, name)}
	}
	return value{}
}

// scalarOf returns the dtype of one number that a reduction returns.
func scalarOf(dtype, name string) string {
	if isInteger(dtype) && name != "mean" && !copying[name] {
		return "int"
	}
	return "float"
}

func (s *values) numpyCall(name string, x *syntax.Call, p at, depth int) value {
	arg := func(i int) value {
		if i >= len(x.Args) {
			return value{}
		}
		return s.infer(x.Args[i], p, depth-1)
	}
	first := arg(0)
	switch {
	case shaped[name]:
		v := value{sort: array, dtype: dtypeAt(s, x, 1, "float64"), fresh: true}
		return s.sized(v, sizeAt(x, "shape", 0), p, depth-1)
	case name == "full":
		v := value{sort: array, dtype: dtypeAt(s, x, 2, ""), fresh: true}
		if v.dtype == "" {
			v.dtype = map[string]string{"int": "int64", "float": "float64", "bool": "bool"}[arg(1).dtype]
		}
		return s.sized(v, sizeAt(x, "shape", 0), p, depth-1)
	case name == "linspace" || name == "logspace":
		v := value{sort: array, dtype: dtypeAt(s, x, 5, "float64"), fresh: true}
		return s.sized(v, sizeAt(x, "num", 2), p, depth-1)
	case name == "arange":
		kind := "int64"
		for i := range x.Args {
			if d := arg(i).dtype; d != "int" {
				kind = map[string]string{"float": "float64"}[d]
			}
		}
		return value{sort: array, dtype: dtypeAt(s, x, 3, kind), fresh: true}
	case strings.HasPrefix(name, "random."):
		return s.drawn(strings.TrimPrefix(name, "random."), x, p, depth)
	case likes[name] && first.sort == array && x.Keyword("dtype") == nil:
		first.fresh = name != "ascontiguousarray"
		return first
	case unary[name] && len(x.Keywords) == 0:
		first.fresh = true
		if isInteger(first.dtype) && floating[name] {
			first.dtype, first.bytes = "float64", elements(first)*8
		}
		return first
	case binary[name] && len(x.Keywords) == 0:
		op := "+"
		if strings.HasSuffix(name, "divide") {
			op = "/"
		}
		return s.operation(first, arg(1), op)
	case name == "clip" || name == "round" || name == "around":
		first.fresh = true
		return first
	case (reductions[name] || copying[name]) && first.sort == array && len(x.Keywords) == 0 && len(x.Args) == 1:
		return value{sort: scalar, dtype: scalarOf(first.dtype, name)}
	}
	return value{}
}

// isGenerator reports whether an expression is a generator of random numbers.
func (s *values) isGenerator(e syntax.Expr, p at) bool {
	if name, ok := e.(*syntax.Name); ok {
		b, ok := s.before(name.ID, p.order, p.offset)
		if !ok {
			return false
		}
		e = b.value
	}
	call, _ := s.call(e)
	return call == "random.default_rng" || call == "random.RandomState"
}

// drawn returns what is known about random numbers.
func (s *values) drawn(name string, x *syntax.Call, p at, depth int) value {
	place, kind := 0, ""
	if at, ok := draws[name]; ok {
		place, kind = at, "float64"
	} else if at, ok := integerDraws[name]; ok {
		place, kind = at, "int64"
	} else {
		return value{}
	}
	if x.Keyword("size") == nil && len(x.Args) <= place {
		return value{sort: scalar, dtype: map[string]string{"float64": "float", "int64": "int"}[kind]}
	}
	if d := x.Keyword("dtype"); d != nil {
		kind = dtypeOf(s, d)
	}
	v := value{sort: array, dtype: kind, fresh: true}
	if name == "rand" || name == "randn" { // each argument is a dimension
		return s.sized(v, &syntax.Tuple{Elts: x.Args}, p, depth-1)
	}
	return s.sized(v, sizeAt(x, "size", place), p, depth-1)
}

// dtypeAt returns the dtype that a call has as a keyword or at a place; another one if it has none.
func dtypeAt(s *values, x *syntax.Call, place int, or string) string {
	if d := x.Keyword("dtype"); d != nil {
		return dtypeOf(s, d)
	}
	if place < len(x.Args) {
		return dtypeOf(s, x.Args[place])
	}
	return or
}

// dtypeOf returns the dtype that an expression names; "" if it is not known.
func dtypeOf(s *values, e syntax.Expr) string {
	name := ""
	switch x := e.(type) {
	case *syntax.Constant:
		name = map[string]string{"f4": "float32", "f8": "float64", "i8": "int64", "i4": "int32", "u1": "uint8",
			"float": "float64", "int": "int64"}[x.Value]
		if name == "" {
			name = x.Value
		}
	case *syntax.Name:
		name = map[string]string{"float": "float64", "int": "int64", "bool": "bool"}[x.ID]
		if name == "" {
			name = s.numpy(x)
		}
	case *syntax.Attribute:
		if name = s.numpy(x); name == "bool_" {
			name = "bool"
		}
	}
	if itemSize(name) == 0 {
		return ""
	}
	return name
}
