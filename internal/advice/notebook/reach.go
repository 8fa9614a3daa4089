package notebook

import "ipytracer/internal/syntax"

// reach returns the names that a statement reads, those that functions with these names read, and so on. It finds them
// once for each statement; nobody changes them.
func (s *Flow) reach(node syntax.Stmt) map[string]bool {
	if known := s.reached[node]; known != nil {
		return known
	}
	seen, todo := map[string]bool{}, s.readsOf(node)
	s.reached[node] = seen
	for len(todo) > 0 && s.step() {
		one := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[one] {
			continue
		}
		seen[one] = true
		if f := s.functions[one]; f != nil {
			for i := range f.Reads {
				todo = append(todo, f.Reads[i].Name)
			}
		}
	}
	return seen
}

// leads reports whether a name may lead to a module of which it is not known that it keeps no arguments: it is one, or
// the value of a statement that reads one. Data of known types leads nowhere.
func (s *Flow) leads(name string) bool {
	if known, ok := s.foreign[name]; ok {
		return known
	}
	seen, todo, found := map[string]bool{}, []string{name}, false
	for len(todo) > 0 && !found {
		one := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		full := s.modules[one]
		switch {
		case seen[one]:
			continue
		case !s.step():
			found = true
		case full != "":
			found = !stateless[firstPart(full)]
		case len(s.made[one]) == 0: // nobody knows by whom
			found = !isBuiltin[one]
		case familyOf(s.n.Variable(one)) == others || len(s.made[one]) > 1 || s.declared[one]:
			for _, st := range s.made[one] {
				todo = append(todo, s.readsOf(st.Node)...)
			}
			if f := s.functions[one]; f != nil && one != name {
				for i := range f.Reads {
					todo = append(todo, f.Reads[i].Name)
				}
			}
		}
		seen[one] = true
	}
	s.foreign[name] = found
	return found
}
