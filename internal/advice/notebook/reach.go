package notebook

import "ipytracer/internal/syntax"

// reach returns the names that a statement reads, the names that functions of these names read, and so on. It computes
// the set once for each statement. Callers must not change the set.
func (s *Flow) reach(node syntax.Stmt) map[string]bool {
	if known := s.reached[node]; known != nil {
		return known
	}
	seen, todo := map[string]bool{}, s.readsOf(node)
	s.reached[node] = seen
	for len(todo) > 0 && s.step() {
		name := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[name] {
			continue
		}
		seen[name] = true
		if f := s.functions[name]; f != nil {
			for i := range f.Reads {
				todo = append(todo, f.Reads[i].Name)
			}
		}
	}
	return seen
}

// leadsToModule reports whether a name may lead to a module that could keep an argument, because it is not among the
// stateless modules. The name may be bound to the module, or to a value that a statement made with the module. Data of
// known families leads nowhere.
func (s *Flow) leadsToModule(name string) bool {
	if known, ok := s.leading[name]; ok {
		return known
	}
	seen, todo, found := map[string]bool{}, []string{name}, false
	for len(todo) > 0 && !found {
		next := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		full := s.modules[next]
		switch {
		case seen[next]:
			continue
		case !s.step():
			found = true
		case full != "":
			found = !stateless[firstPart(full)]
		case len(s.binders[next]) == 0: // no statement shows what the name is bound to
			found = !isBuiltin[next]
		case familyOf(s.n.Variable(next)) == others || len(s.binders[next]) > 1 || s.declared[next]:
			for _, st := range s.binders[next] {
				todo = append(todo, s.readsOf(st.Node)...)
			}
			if f := s.functions[next]; f != nil && next != name {
				for i := range f.Reads {
					todo = append(todo, f.Reads[i].Name)
				}
			}
		}
		seen[next] = true
	}
	s.leading[name] = found
	return found
}
