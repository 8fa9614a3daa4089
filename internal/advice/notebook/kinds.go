package notebook

import (
	"strings"

	"ipytracer/internal/syntax"
	"ipytracer/model"
)

// family is a family of types whose methods and operators return the same kinds of values.
type family int

const (
	others  family = iota
	arrays         // of NumPy: operators make a value of its own
	tensors        // of PyTorch: so do operators; but methods may let go of what a view holds
	frames         // of pandas: so do operators; but methods may share columns, and always do with copy-on-write
	scalars
)

// lasting returns the variable at the session's end that has the value of a name when a statement runs; nil if the name
// may be bound anew in between.
func (s *Flow) lasting(name string, at *Statement) *model.Variable {
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

// family returns the family of a name's value when a statement runs, as the variables at the session's end show it.
func (s *Flow) kind(name string, at *Statement) family { return familyOf(s.lasting(name, at)) }

func familyOf(v *model.Variable) family {
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
func (s *Flow) isArray(name string, at *Statement) bool {
	k := s.kind(name, at)
	return k == arrays || k == tensors
}

// plain reports whether the value of a name is data that leads to no module.
func (s *Flow) plain(name string, at *Statement) bool { return s.kind(name, at) != others }

// dull reports whether the value of a name is data whose elements are plain values, and no objects that something else
// could hold.
func (s *Flow) dull(name string, at *Statement) bool {
	v := s.lasting(name, at)
	return familyOf(v) != others && v.DType != "object"
}

// numbers reports whether the value of a name is data that holds no other objects, and stays so until the name is bound
// anew.
func (s *Flow) numbers(name string, at *Statement) bool {
	v := s.lasting(name, at)
	k := familyOf(v)
	return k == scalars || k == arrays && v.DType != "object"
}

// gathers reports whether a name is a container of Python's own.
func gathers(s *Flow, name string, at *Statement) bool {
	v := s.lasting(name, at)
	return v != nil && containers[v.Type]
}

// becomesNumber reports whether a statement is the last one to bind a name, and binds it to a number or a text.
func becomesNumber(s *Flow, name string, by *Statement) bool {
	all := s.made[name]
	return len(all) > 0 && all[len(all)-1] == by && !s.declared[name] && familyOf(s.n.Variable(name)) == scalars
}

// constant reports whether a name is bound to numbers and texts of the source only.
func constant(s *Flow, name string) bool {
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
