package notebook

import (
	"strings"

	"ipytracer/internal/syntax"
)

// anyCallKeeps reports whether a call in a node may keep the value of one of the names, although its function has the
// name of a function that keeps nothing. Examples are store.save(x), sum of lists, and round of whole numbers. at is
// nil in the body of a function.
func anyCallKeeps(s *Flow, node syntax.Node, names map[string]bool, at *Statement) bool {
	return anyIn(s, node, func(call *syntax.Call) bool {
		callee := dotted(call.Func)
		return syntax.IsPure(lastPart(callee)) && passesAny(s, call, names) && mayKeepArgument(s, callee, call, at)
	})
}

// mayKeepArgument reports whether a call may keep or return an argument, although its function has a harmless name.
func mayKeepArgument(s *Flow, callee string, call *syntax.Call, at *Statement) bool {
	full := s.fullName(callee)
	switch {
	case full == "builtins.sum" || full == "builtins.round" || full == "numpy.round":
		arg, isName := call.Args[0].(*syntax.Name)
		if !isName {
			_, isComp := call.Args[0].(*syntax.Comp)
			return !isComp
		}
		v := s.n.Variable(arg.ID)
		return at == nil || !s.isPlainData(arg.ID, at) || full != "builtins.sum" && !strings.HasPrefix(v.DType, "float")
	case full != "":
		return !stateless[firstPart(full)]
	}
	root := firstPart(callee)
	return !strings.Contains(callee, ".") || at == nil || !s.isPlainData(root, at)
}

// passesAny reports whether an argument of a call is one of the names, or a display such as [x] with one. A keyword
// argument alone counts only for functions that are not of a module.
func passesAny(s *Flow, call *syntax.Call, names map[string]bool) (found bool) {
	search := func(e syntax.Expr) {
		syntax.Walk(e, func(n syntax.Node) bool {
			switch x := n.(type) {
			case *syntax.Name:
				found = found || names[x.ID]
			case *syntax.Attribute, *syntax.Call, *syntax.BinOp, *syntax.Compare:
				return false // their value is another one: the syntax tree shows how it uses the names
			}
			return !found && s.step()
		})
	}
	for _, a := range call.Args {
		search(a)
	}
	for _, k := range call.Keywords {
		search(k.Value)
	}
	if len(call.Args) > 0 {
		return found
	}
	return found && s.fullName(dotted(call.Func)) == ""
}

// returnsNew reports whether a method of a name's value returns a new object, which shares no memory with the value and
// is none of its elements.
func (s *Flow) returnsNew(name, method string, at *Statement) bool {
	if summaries[method] {
		return !elements[method] || s.isPlainData(name, at)
	}
	v := s.lasting(name, at)
	switch f := familyOf(v); {
	case f != arrays && f != tensors || !copies[method] || v.DType == "object":
		return false
	case f == tensors:
		return method != "flatten"
	}
	return method != "round" || strings.HasPrefix(v.DType, "float") // round of whole numbers returns the array itself
}

// mayReturnArgument reports whether a function that keeps no argument may return an argument or an element of one, as
// max of a list does, and a function of NumPy for elements that are objects. at is nil in the body of a function.
func mayReturnArgument(s *Flow, u *syntax.Use, at *Statement) bool {
	full := s.fullName(u.Callee)
	last := lastPart(full)
	isPlain := at != nil && s.isPlainData(u.Name, at)
	switch {
	case full == "builtins.max" || full == "builtins.min" || full == "builtins.sum":
		return !isPlain || u.How == syntax.Kept
	case !strings.HasPrefix(full, "numpy."):
		return false
	case last == "around" || last == "round":
		v := s.n.Variable(u.Name)
		return !isPlain || !strings.HasPrefix(v.DType, "float")
	case last == "array" && u.How == syntax.Kept: // NumPy before 1.24 makes an array of objects of unequal rows
		return at == nil || !bindsNumbers(s, at)
	}
	return !isPlain && !facts[last]
}

// bindsNumbers reports whether a statement binds names to arrays of numbers only, which are still bound at the end.
func bindsNumbers(s *Flow, st *Statement) bool {
	for i := range s.uses[st.Node].Binds {
		name := s.uses[st.Node].Binds[i].Name
		if all := s.binders[name]; all[len(all)-1] != st || familyOf(s.n.Variable(name)) != arrays ||
			s.n.Variable(name).DType == "object" {
			return false
		}
	}
	return true
}

// writesInto reports whether a node passes a name to a function of NumPy as the array for its result (out=), given by
// position. The function then returns that array.
func writesInto(s *Flow, node syntax.Node, name string) bool {
	return anyIn(s, node, func(call *syntax.Call) bool {
		inputs, called := 2, syntax.LastName(call.Func)
		switch {
		case unary[called] || called == "histogram" || called == "histogram2d":
			inputs = 1 // a histogram's edges come second: it returns them
		case ternary[called]:
			inputs = 3
		}
		return len(call.Args) > 1 && among(call.Args[min(inputs, len(call.Args)):], name)
	})
}
