package notebook

import (
	"strings"

	"ipytracer/internal/syntax"
)

// strays reports whether a call in a node keeps one of the names although the called function has the last name of one
// that keeps nothing. Examples are a method such as store.save(x), sum of lists, and round of whole numbers. at is nil
// in the body of a function.
func strays(s *Flow, node syntax.Node, names map[string]bool, at *Statement) bool {
	return anyIn(s, node, func(call *syntax.Call) bool {
		callee := dotted(call.Func)
		return syntax.IsPure(lastPart(callee)) && getsAny(s, call, names) && keepsAfterAll(s, callee, call, at)
	})
}

// keepsAfterAll reports whether a call of a function with a harmless name may keep an argument, or return one.
func keepsAfterAll(s *Flow, callee string, call *syntax.Call, at *Statement) bool {
	full := s.full(callee)
	switch {
	case full == "builtins.sum" || full == "builtins.round" || full == "numpy.round":
		arg, is := call.Args[0].(*syntax.Name)
		if !is {
			_, comp := call.Args[0].(*syntax.Comp)
			return !comp
		}
		v := s.n.Variable(arg.ID)
		return at == nil || !s.dull(arg.ID, at) || full != "builtins.sum" && !strings.HasPrefix(v.DType, "float")
	case full != "":
		return !stateless[firstPart(full)]
	}
	root := firstPart(callee)
	return !strings.Contains(callee, ".") || at == nil || !s.dull(root, at)
}

// getsAny reports whether an argument of a call has one of the names in it, by itself or in a display.
func getsAny(s *Flow, call *syntax.Call, names map[string]bool) (found bool) {
	has := func(e syntax.Expr) {
		syntax.Walk(e, func(n syntax.Node) bool {
			switch x := n.(type) {
			case *syntax.Name:
				found = found || names[x.ID]
			case *syntax.Attribute, *syntax.Call, *syntax.BinOp, *syntax.Compare:
				return false // the tree tells what they return
			}
			return !found && s.step()
		})
	}
	for _, a := range call.Args {
		has(a)
	}
	for _, k := range call.Keywords {
		has(k.Value)
	}
	return found && len(call.Args) > 0 || found && len(call.Keywords) > 0 && s.full(dotted(call.Func)) == ""
}

// fresh reports whether a method of a name's value returns a new object: neither the value or an element of it, nor one
// that shares memory with them.
func (s *Flow) fresh(name, method string, at *Statement) bool {
	if summaries[method] {
		return !elements[method] || s.dull(name, at)
	}
	v := s.lasting(name, at)
	switch k := familyOf(v); {
	case k != arrays && k != tensors || !copies[method] || v.DType == "object":
		return false
	case k == tensors:
		return method != "flatten"
	}
	return method != "round" || strings.HasPrefix(v.DType, "float") // round of whole numbers returns the array itself
}

// handsElements reports whether a function that keeps no argument may return an argument, or an element of one. max of
// a list does, and so do functions of NumPy where elements are objects. at is nil in the body of a function.
func handsElements(s *Flow, u *syntax.Use, at *Statement) bool {
	full := s.full(u.Callee)
	last := lastPart(full)
	dull := at != nil && s.dull(u.Name, at)
	switch {
	case full == "builtins.max" || full == "builtins.min" || full == "builtins.sum":
		return !dull || u.How == syntax.Kept
	case !strings.HasPrefix(full, "numpy."):
		return false
	case last == "around" || last == "round":
		v := s.n.Variable(u.Name)
		return !dull || !strings.HasPrefix(v.DType, "float")
	case last == "array" && u.How == syntax.Kept: // old releases make objects of arrays of several lengths
		return at == nil || !bindsNumbers(s, at)
	}
	return !dull && !facts[last]
}

// bindsNumbers reports whether all names that a statement binds are numbers at the end.
func bindsNumbers(s *Flow, st *Statement) bool {
	for i := range s.uses[st.Node].Binds {
		name := s.uses[st.Node].Binds[i].Name
		if all := s.made[name]; all[len(all)-1] != st || familyOf(s.n.Variable(name)) != arrays ||
			s.n.Variable(name).DType == "object" {
			return false
		}
	}
	return true
}

// writesInto reports whether a node passes a name to a function of NumPy as the array for its result. The function then
// returns that array.
func writesInto(s *Flow, node syntax.Node, name string) bool {
	return anyIn(s, node, func(call *syntax.Call) bool {
		first, called := 2, syntax.LastName(call.Func)
		switch {
		case unary[called] || called == "histogram" || called == "histogram2d":
			first = 1 // a histogram has its edges there
		case ternary[called]:
			first = 3
		}
		return len(call.Args) > 1 && among(call.Args[min(first, len(call.Args)):], name)
	})
}
