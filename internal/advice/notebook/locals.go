package notebook

import (
	"strings"

	"ipytracer/internal/syntax"
)

// OnlyLocal reports whether a local variable is the only holder of the value that made assigns to it: the calls that
// make the value keep no reference to it, and no statement of the function stores, returns or passes on the value.
func (s *Flow) OnlyLocal(f *syntax.FunctionDef, made *syntax.Assign, name string) bool {
	return makesAnew(s, made.Value) && s.unheld(f, map[string]bool{name: true}, 0)
}

// makesAnew reports whether an expression certainly makes a new array that nothing else holds: each of its calls
// creates one, or it is an operation without calls.
func makesAnew(s *Flow, value syntax.Expr) bool {
	calls, allCreate := 0, true
	syntax.Walk(value, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.Call); ok {
			calls++
			allCreate = allCreate && creates(s, call)
		}
		return allCreate && s.step()
	})
	_, isOperation := value.(*syntax.BinOp)
	return allCreate && (calls > 0 || isOperation)
}

// creates reports whether the result of a call is new memory that only the caller holds: the call of a NumPy function,
// of a method that copies, or of a method that draws random numbers.
func creates(s *Flow, call *syntax.Call) bool {
	callee := dotted(call.Func)
	full, last := s.fullName(callee), lastPart(callee)
	switch {
	case full == "":
		return strings.Contains(callee, ".") && (copies[last] || creators[last] || draws[last])
	case strings.HasPrefix(full, "numpy.random."), strings.HasPrefix(full, "numpy.fft."):
		return true
	case strings.HasPrefix(full, "builtins."):
		return harmless[last]
	}
	return stateless[firstPart(full)] && creators[last] || strings.HasPrefix(full, "numpy.") && functions[last]
}

// unheld reports whether a function neither keeps nor returns the values of the names, nor a part of one.
func (s *Flow) unheld(f *syntax.FunctionDef, names map[string]bool, depth int) bool {
	uses := syntax.Names(f.Body...)
	if uses.Dynamic || len(uses.Functions) > 0 || catches(f) {
		return false
	}
	for i := range uses.Reads {
		u := &uses.Reads[i]
		if !s.step() {
			return false
		}
		if !names[u.Name] || !u.Aliased {
			continue
		}
		if u.Later || strings.HasPrefix(u.Callee, ".") && u.How == syntax.Method && !summaries[u.Callee[1:]] {
			return false
		}
		if u.How == syntax.Method {
			continue
		}
		passed := u.How == syntax.Argument && s.parameterUnheld(u.Callee, depth+1)
		if names[firstPart(u.Callee)] || !s.knownCallee(u) && !passed {
			return false
		}
	}
	return !syntax.Generates(f) && !mayPassOn(f) && !anyCallKeeps(s, f, names, nil)
}

// maxDepth bounds the calls of the notebook's functions, one inside the other, through which a value is followed.
const maxDepth = 4

// parameterUnheld reports whether a function of the notebook neither keeps nor returns an argument, nor a part of one.
func (s *Flow) parameterUnheld(name string, depth int) bool {
	defs := s.bodies[name]
	if depth > maxDepth || len(defs) != 1 || len(s.binders[name]) == 0 || s.functions[name] == nil ||
		s.functions[name].Loose {
		return false
	}
	for _, st := range s.binders[name] {
		if st.Node != syntax.Stmt(defs[0]) {
			return false
		}
	}
	f := defs[0]
	parameters := map[string]bool{}
	for _, a := range f.Args.All() {
		parameters[a.Name] = true
	}
	return len(s.functions[name].Binds) == 0 && s.unheld(f, parameters, depth)
}
