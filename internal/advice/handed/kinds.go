package handed

import (
	"strings"

	"ipytracer/internal/advice/evidence"
	"ipytracer/internal/syntax"
	"ipytracer/model"
)

// kind is a family of types, as far as it decides what methods and operators return.
type kind int

const (
	others  kind = iota
	arrays       // of NumPy: operators make a value of its own
	tensors      // of PyTorch: so do operators; but methods may let go of what a view holds
	frames       // of pandas: so do operators; but methods may share columns, and always do with copy-on-write
	scalars
)

// lasting returns the variable of the end that a name leads to when a statement runs; nil if it may be bound anew.
func (s *Scene) lasting(name string, at *evidence.Statement) *model.Variable {
	v := s.n.Variable(name)
	if v == nil || s.declared[name] {
		return nil
	}
	if all := s.made[name]; len(all) > 0 {
		last := all[len(all)-1]
		_, same := last.Node.(*syntax.AugAssign)
		if last.Order > at.Order || last.Order == at.Order && !same {
			return nil
		}
	}
	return v
}

// kind returns the family of a name's value when a statement runs, by the variables of the end.
func (s *Scene) kind(name string, at *evidence.Statement) kind { return kindOf(s.lasting(name, at)) }

func kindOf(v *model.Variable) kind {
	if v == nil {
		return others
	}
	switch v.Type {
	case "ndarray", "numpy.ndarray":
		return arrays
	case "Tensor", "torch.Tensor":
		return tensors
	case "int", "float", "bool", "str", "complex", "bytes", "NoneType":
		return scalars
	}
	switch last := lastPart(v.Type); {
	case last == "DataFrame" || last == "Series":
		return frames
	case last == "Generator" || last == "RandomState" || strings.HasPrefix(v.Type, "numpy."):
		return scalars
	}
	return others
}

// isArray reports whether the value of a name is an array of NumPy's or a tensor.
func (s *Scene) isArray(name string, at *evidence.Statement) bool {
	k := s.kind(name, at)
	return k == arrays || k == tensors
}

// plain reports whether the value of a name is data that leads to no module.
func (s *Scene) plain(name string, at *evidence.Statement) bool { return s.kind(name, at) != others }

// dull reports whether the value of a name is data whose elements are no objects that could be held.
func (s *Scene) dull(name string, at *evidence.Statement) bool {
	v := s.lasting(name, at)
	return kindOf(v) != others && v.DType != "object"
}

// numbers reports whether the value of a name is data that holds no other objects, and that is nothing else before its
// name is bound anew.
func (s *Scene) numbers(name string, at *evidence.Statement) bool {
	v := s.lasting(name, at)
	k := kindOf(v)
	return k == scalars || k == arrays && v.DType != "object"
}

// gathers reports whether a name is a container of Python's own.
func gathers(s *Scene, name string, at *evidence.Statement) bool {
	v := s.lasting(name, at)
	return v != nil && containers[v.Type]
}

// becomesNumber reports whether a statement is the last one to bind a name, and binds it to a number or a text.
func becomesNumber(s *Scene, name string, by *evidence.Statement) bool {
	all := s.made[name]
	return len(all) > 0 && all[len(all)-1] == by && !s.declared[name] && kindOf(s.n.Variable(name)) == scalars
}

// constant reports whether a name is bound to numbers and texts of the source only.
func constant(s *Scene, name string) bool {
	for _, st := range s.made[name] {
		a, ok := st.Node.(*syntax.Assign)
		if !ok || !s.step() || !literal(a.Value) {
			return false
		}
	}
	return len(s.made[name]) > 0 && !s.declared[name]
}

func literal(e syntax.Expr) bool {
	switch x := e.(type) {
	case *syntax.Constant:
		return true
	case *syntax.UnaryOp:
		return literal(x.Operand)
	case *syntax.BinOp:
		return literal(x.Left) && literal(x.Right)
	}
	return false
}
