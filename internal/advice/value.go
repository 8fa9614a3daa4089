package advice

import (
	"slices"
	"strings"

	"ipytracer/internal/syntax"
	"ipytracer/model"
)

// maxInference bounds how deep expressions are followed: into their parts, and from names to their bindings.
const maxInference = 32

// maxElements bounds the elements of an array. No machine has room for so many.
const maxElements = 1 << 44

// sort says what a value is.
type sort int

const (
	unknownSort sort = iota
	scalar
	array
)

// value is what is known about the value of an expression.
type value struct {
	sort       sort
	dtype      string  // NumPy's name for an array; "bool", "int" or "float" for a scalar; "" if it is not known
	shape      []int64 // nil if it is not known
	bytes      int64   // size of an array; 0 if it is not known
	fresh      bool    // nothing else can hold the array
	fromSource bool    // the shape comes from numbers in the source, which may not be those of this run
}

// sameSize reports whether two arrays certainly have the same shape, judged by the shapes, or else by the number of
// elements.
func (v value) sameSize(o value) bool {
	if v.sort != array || o.sort != array {
		return false
	}
	if v.shape != nil && o.shape != nil {
		return slices.Equal(v.shape, o.shape)
	}
	return v.bytes > 0 && o.bytes > 0 && v.bytes*itemSize(o.dtype) == o.bytes*itemSize(v.dtype) && itemSize(v.dtype) > 0
}

// itemSize returns the bytes of an element; 0 for an unknown dtype.
func itemSize(dtype string) int64 {
	switch dtype {
	case "bool", "int8", "uint8":
		return 1
	case "int16", "uint16", "float16":
		return 2
	case "int32", "uint32", "float32":
		return 4
	case "int64", "uint64", "float64":
		return 8
	}
	return 0
}

func isInteger(dtype string) bool {
	return strings.HasPrefix(dtype, "int") || strings.HasPrefix(dtype, "uint") || dtype == "bool"
}

// promoted returns the dtype of the result of an arithmetic operation; "" if it is not known.
func promoted(a, b value, op string) string {
	if a.dtype == "" || b.dtype == "" {
		return ""
	}
	if a.sort == scalar && b.sort == array {
		a, b = b, a
	}
	kind := a.dtype
	switch {
	case a.sort == scalar:
		if op == "/" || a.dtype == "float" || b.dtype == "float" {
			return "float"
		}
		return "int"
	case b.sort == scalar && b.dtype == "float" && isInteger(a.dtype):
		kind = "float64" // NumPy returns less for small integers; no rule relies on that
	case b.sort == array && a.dtype != b.dtype:
		switch {
		case a.dtype == "float64" || b.dtype == "float64":
			kind = "float64"
		default:
			return ""
		}
	}
	if op == "/" && isInteger(kind) {
		return "float64"
	}
	return kind
}

// values infers the values of a notebook's expressions.
type values struct {
	*scene
}

// position is an offset in the source of the cell, at a run of a statement.
type position struct{ order, offset int }

// valueOf returns what is known about an expression that is evaluated at a position.
func (s *values) valueOf(e syntax.Expr, p position) value { return s.infer(e, p, maxInference) }

func (s *values) infer(expr syntax.Expr, p position, depth int) value {
	if depth == 0 || expr == nil || !s.step() {
		return value{}
	}
	switch x := expr.(type) {
	case *syntax.Constant:
		switch x.Kind {
		case "int", "float":
			return value{sort: scalar, dtype: x.Kind}
		case "True", "False":
			return value{sort: scalar, dtype: "bool"}
		}
	case *syntax.Name:
		return s.valueOfName(x.ID, p, depth)
	case *syntax.UnaryOp:
		if v := s.infer(x.Operand, p, depth-1); x.Op == "-" || x.Op == "+" {
			v.fresh = true
			return v
		}
	case *syntax.BinOp:
		return s.operation(s.infer(x.Left, p, depth-1), s.infer(x.Right, p, depth-1), x.Op)
	case *syntax.Attribute:
		return s.attribute(x, p, depth)
	case *syntax.Subscript:
		if indexed, ok := x.Value.(*syntax.Attribute); ok && indexed.Attr == "shape" {
			return value{sort: scalar, dtype: "int"}
		}
	case *syntax.Call:
		return s.resultOf(x, p, depth)
	}
	return value{}
}

func (s *values) attribute(x *syntax.Attribute, p position, depth int) value {
	switch s.numpyName(x) {
	case "pi", "e", "inf", "nan":
		return value{sort: scalar, dtype: "float"}
	}
	if numbers[x.Attr] && x.Attr != "dtype" {
		return value{sort: scalar, dtype: "int"}
	}
	return value{}
}

// operation returns what is known about the result of an arithmetic operation.
func (s *values) operation(a, b value, op string) value {
	if a.sort == unknownSort || b.sort == unknownSort || op == "@" {
		return value{}
	}
	out := value{sort: scalar, dtype: promoted(a, b, op), fresh: true, fromSource: a.fromSource || b.fromSource}
	if a.sort == scalar && b.sort == scalar {
		return out
	}
	out.sort = array
	big := a
	if a.sort == scalar || b.sort == array && elements(b) > elements(a) {
		big = b
	}
	if a.sort == array && b.sort == array && (elements(a) == 0 || elements(b) == 0) {
		return out
	}
	out.shape, out.bytes = big.shape, elements(big)*itemSize(out.dtype)
	if shape := broadcast(a.shape, b.shape); shape != nil && a.sort == array && b.sort == array {
		out.shape = shape
		out.bytes = elements(out) * itemSize(out.dtype)
	}
	return out
}

// broadcast returns the shape of the result of an operation of two arrays, by NumPy's rules of broadcasting; nil if a
// shape is not known, or if the shapes do not fit.
func broadcast(a, b []int64) []int64 {
	if a == nil || b == nil {
		return nil
	}
	if len(a) < len(b) {
		a, b = b, a
	}
	out := slices.Clone(a)
	for i, d := range b {
		switch at := len(a) - len(b) + i; {
		case out[at] == 1:
			out[at] = d
		case d != 1 && d != out[at]:
			return nil
		}
	}
	return out
}

func elements(v value) int64 {
	if v.shape != nil {
		n := int64(1)
		for _, d := range v.shape {
			if n *= max(0, d); n > maxElements || d > maxElements {
				return 0
			}
		}
		return n
	}
	if item := itemSize(v.dtype); item > 0 {
		return v.bytes / item
	}
	return 0
}

// valueOfName returns what is known about the value of a name at a position. If the name is bound no more afterwards,
// the variables of the session's end show the value. Else the expression shows it that was bound to the name, together
// with the memory that the statement kept.
func (s *values) valueOfName(name string, p position, depth int) value {
	b, ok := s.bindingAt(name, p.order, p.offset)
	if !ok || s.global[name] {
		return value{}
	}
	last := s.binds[name][len(s.binds[name])-1]
	if last.order == b.order && last.at == b.at {
		if variable := s.n.Variable(name); variable != nil && variable.Kind == "variable" && isArray(variable) {
			out := value{sort: array, dtype: variable.DType, shape: variable.Shape}
			out.bytes = elements(out) * itemSize(variable.DType)
			out.fresh = s.infer(b.value, position{order: b.order, offset: b.at}, depth-1).fresh
			return out
		}
	}
	out := s.infer(b.value, position{order: b.order, offset: b.at}, depth-1)
	if out.sort != array || !out.fresh || b.s.Moment == nil || !isAssigned(b) {
		return out
	}
	kept := b.s.Moment.KeptBytes(isNumPy)
	if out.shape != nil && (kept < out.bytes-out.bytes/16 || kept > out.bytes+out.bytes/16) {
		out.shape, out.fromSource = nil, false // this run had other numbers than the source
	}
	if out.shape == nil {
		out.bytes = kept
	}
	return out
}

func isArray(v *model.Variable) bool { return v.Type == "numpy.ndarray" || v.Type == "ndarray" }

// timed returns the statement within %time, or within %%time if it is the only one. It returns other statements
// unchanged.
func timed(node syntax.Stmt) syntax.Stmt {
	if m, ok := node.(*syntax.Magic); ok && m.Name() == "time" && len(m.Body) == 1 {
		return m.Body[0]
	}
	return node
}

// isAssigned reports whether a statement binds one name to the value, and does nothing else that keeps memory.
func isAssigned(b bind) bool {
	a, ok := timed(b.s.Node).(*syntax.Assign)
	return ok && a.Value == b.value
}
