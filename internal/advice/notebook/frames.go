package notebook

import (
	"slices"

	"ipytracer/internal/syntax"
	"ipytracer/model"
)

// failed reports whether a statement belongs to a cell that ended with an error. The error's traceback holds the locals
// of all functions that were running.
func failed(st *Statement) bool {
	return st.Window.Status == model.Error || st.Cell.Window.Status == model.Error
}

// mayKeepFrames reports whether a statement, or a function that it reaches, may keep an error. The traceback of an
// error holds the locals of all functions that were running.
func mayKeepFrames(s *Flow, st *Statement) bool {
	if failed(st) || catches(st.Node) {
		return true
	}
	for name := range s.reach(st.Node) {
		for _, def := range s.bodies[name] {
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

// readsAny reports whether a statement, or a function that it reaches, reads one of the names.
func readsAny(s *Flow, node syntax.Stmt, names map[string]bool) bool {
	for name := range s.reach(node) {
		if names[name] {
			return true
		}
	}
	return false
}

// storesInModule reports whether a statement, or a function that it reaches, stores something in a module or in a
// function.
func storesInModule(s *Flow, st *Statement) bool {
	if changesModule(s, s.uses[st.Node].Reads) || storesInObject(s, st.Node) {
		return true
	}
	for name := range s.reach(st.Node) {
		if f := s.functions[name]; f != nil && changesModule(s, f.Reads) {
			return true
		}
		for _, def := range s.bodies[name] {
			if storesInObject(s, def) {
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

// storesInObject reports whether a node calls setattr or vars, or a method of a module's object that stores its
// argument.
func storesInObject(s *Flow, node syntax.Node) bool {
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
