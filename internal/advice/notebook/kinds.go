package notebook

import (
	"strings"

	"ipytracer/internal/syntax"
	"ipytracer/model"
)

// family groups types whose operators and methods treat memory alike.
type family int

const (
	others  family = iota // unknown types
	arrays                // NumPy: operators return new memory
	tensors               // PyTorch: operators return new memory; a method may make a view let go of memory
	frames                // pandas: operators return new memory; a method may share columns (copy-on-write)
	scalars
)

// lasting returns the variable at the session's end that a name was bound to already when a statement ran; nil if the
// name may have been bound anew since.
func (s *Flow) lasting(name string, at *Statement) *model.Variable {
	v := s.n.Variable(name)
	if v == nil || s.declared[name] {
		return nil
	}
	if binders := s.binders[name]; len(binders) > 0 {
		last := binders[len(binders)-1]
		_, keepsObject := last.Node.(*syntax.AugAssign)
		if last.Order > at.Order || last.Order == at.Order && !keepsObject {
			return nil
		}
	}
	return v
}

// familyAt returns the family of a name's value when a statement runs; others if the session's end does not show it.
func (s *Flow) familyAt(name string, at *Statement) family { return familyOf(s.lasting(name, at)) }

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

// isArray reports whether the value of a name is a NumPy array or a tensor.
func (s *Flow) isArray(name string, at *Statement) bool {
	f := s.familyAt(name, at)
	return f == arrays || f == tensors
}

// isKnownData reports whether the value of a name belongs to a known family. Such data leads to no module.
func (s *Flow) isKnownData(name string, at *Statement) bool { return s.familyAt(name, at) != others }

// isPlainData reports whether the value of a name is data whose elements are numbers or texts. Elements that are
// objects could have other holders.
func (s *Flow) isPlainData(name string, at *Statement) bool {
	v := s.lasting(name, at)
	return familyOf(v) != others && v.DType != "object"
}

// isNumeric reports whether the value of a name can hold no other object: a scalar, or an array without objects.
func (s *Flow) isNumeric(name string, at *Statement) bool {
	v := s.lasting(name, at)
	f := familyOf(v)
	return f == scalars || f == arrays && v.DType != "object"
}

// isContainer reports whether the value of a name is one of Python's own containers, such as a list.
func isContainer(s *Flow, name string, at *Statement) bool {
	v := s.lasting(name, at)
	return v != nil && containers[v.Type]
}

// isLastBoundToScalar reports whether a statement is the last one that binds a name, and binds it to a scalar.
func isLastBoundToScalar(s *Flow, name string, by *Statement) bool {
	binders := s.binders[name]
	return len(binders) > 0 && binders[len(binders)-1] == by && !s.declared[name] &&
		familyOf(s.n.Variable(name)) == scalars
}

// isBoundToLiterals reports whether each statement that binds a name assigns it a number or a text of the source.
func isBoundToLiterals(s *Flow, name string) bool {
	for _, st := range s.binders[name] {
		a, ok := st.Node.(*syntax.Assign)
		if !ok || !s.step() || !isLiteral(a.Value) {
			return false
		}
	}
	return len(s.binders[name]) > 0 && !s.declared[name]
}

func isLiteral(e syntax.Expr) bool {
	switch x := e.(type) {
	case *syntax.Constant:
		return true
	case *syntax.UnaryOp:
		return isLiteral(x.Operand)
	case *syntax.BinOp:
		return isLiteral(x.Left) && isLiteral(x.Right)
	}
	return false
}
