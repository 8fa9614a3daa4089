package notebook

import (
	"strings"

	"ipytracer/internal/syntax"
)

// OnlyLocal reports whether a local variable has the only reference to the value that is assigned to it: the calls that
// make the value keep no reference to it, and no statement of the function stores, returns or passes it on.
func (s *Flow) OnlyLocal(f *syntax.FunctionDef, made *syntax.Assign, name string) bool {
	return makesAnew(s, made.Value) && s.unheld(f, map[string]bool{name: true}, 0)
}

// makesAnew reports whether each call in an expression is of a function that is known to make memory of its own, and
// not to keep it.
func makesAnew(s *Flow, value syntax.Expr) bool {
	calls, anew := 0, true
	syntax.Walk(value, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.Call); ok {
			calls++
			anew = anew && creates(s, call)
		}
		return anew && s.step()
	})
	_, operates := value.(*syntax.BinOp)
	return anew && (calls > 0 || operates)
}

// creates reports whether the result of a call is memory of its own: the call is of a function of NumPy, of a method
// that copies, or of one that draws random numbers.
func creates(s *Flow, call *syntax.Call) bool {
	callee := dotted(call.Func)
	full, last := s.full(callee), lastPart(callee)
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

// unheld reports whether a function keeps none of some of its names, and returns no part of one.
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
	return !syntax.Generates(f) && !passesOn(f) && !strays(s, f, names, nil)
}

// maxDepth bounds how deep a value is followed into functions of the notebook.
const maxDepth = 4

// parameterUnheld reports whether a function of the notebook keeps none of its arguments, and returns no part of one.
func (s *Flow) parameterUnheld(name string, depth int) bool {
	defs := s.bodies[name]
	if depth > maxDepth || len(defs) != 1 || len(s.made[name]) == 0 || s.functions[name] == nil ||
		s.functions[name].Loose {
		return false
	}
	for _, st := range s.made[name] {
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
