package notebook

import (
	"ipytracer/internal/syntax"
	"ipytracer/model"
	"slices"
)

// failed reports whether a statement is of a cell that ended with an error: its traceback has the values of all
// functions that ran then.
func failed(st *Statement) bool {
	return st.Window.Status == model.Error || st.Cell.Window.Status == model.Error
}

// mayKeepFrames reports whether a statement, or a function that it reaches, may keep an error, whose traceback has the
// arguments of all functions.
func mayKeepFrames(s *Flow, st *Statement) bool {
	if failed(st) || catches(st.Node) {
		return true
	}
	for one := range s.reach(st.Node) {
		for _, def := range s.bodies[one] {
			if s.step() && catches(def) {
				return true
			}
		}
	}
	return false
}

// catches reports whether a node handles errors.
func catches(node syntax.Node) bool {
	return syntax.Any(node, func(x *syntax.Try) bool { return len(x.Handlers) > 0 })
}

// touches reports whether one of the names is read by a statement, or by a function that it reaches.
func touches(s *Flow, node syntax.Stmt, names map[string]bool) bool {
	for one := range s.reach(node) {
		if names[one] {
			return true
		}
	}
	return false
}

// storesInModule reports whether a statement, or a function that it reaches, stores something in a module or in a
// function.
func storesInModule(s *Flow, st *Statement) bool {
	if changesModule(s, s.uses[st.Node].Reads) || grows(s, st.Node) {
		return true
	}
	for one := range s.reach(st.Node) {
		if f := s.functions[one]; f != nil && changesModule(s, f.Reads) {
			return true
		}
		for _, def := range s.bodies[one] {
			if grows(s, def) {
				return true
			}
		}
	}
	return false
}

func changesModule(s *Flow, reads []syntax.Use) bool {
	return slices.ContainsFunc(reads, func(u syntax.Use) bool {
		return u.Changed && (s.modules[u.Name] != "" || s.bodies[u.Name] != nil)
	})
}

// grows reports whether a node calls setattr, or a method of something in a module that stores its argument.
func grows(s *Flow, node syntax.Node) bool {
	return anyIn(s, node, func(call *syntax.Call) bool {
		switch f := call.Func.(type) {
		case *syntax.Name:
			return f.ID == "setattr" || f.ID == "vars"
		case *syntax.Attribute:
			_, inner := f.Value.(*syntax.Attribute)
			return inner && storing[f.Attr] && s.modules[syntax.Base(f.Value)] != ""
		}
		return false
	})
}
