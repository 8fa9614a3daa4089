package notebook

import (
	"ipytracer/internal/syntax"
)

// born adds the way that is open where the value is made: other targets, and what makes it may hold it. That are
// functions with a decorator, which may be a cache, or that change something else; objects, by their methods and
// properties; and modules.
func (t *Trail) born(name string, made *Statement) {
	s, w := t.scene, Way{At: made}
	a, ok := made.Node.(*syntax.Assign)
	if ok && len(a.Targets) > 1 {
		for _, target := range a.Targets {
			if root := syntax.Root(target); root != name && root != "" {
				w.Names = append(w.Names, root)
			}
		}
	}
	w.Names = append(w.Names, makers(s, s.uses[made.Node].Reads, name, made)...)
	for called := range s.reach(made.Node) {
		f := s.functions[called]
		if f == nil {
			continue
		}
		stores := f.Loose || len(f.Binds) > 0
		for i := range f.Reads {
			stores = stores || f.Reads[i].Changed || f.Reads[i].Aliased && s.isData(f.Reads[i].Name)
		}
		w.Names = append(w.Names, makers(s, f.Reads, name, made)...)
		if stores {
			w.Names = append(w.Names, called)
			w.Names = append(w.Names, s.dataOf(f)...)
		}
	}
	if len(w.Names) > 0 {
		t.Ways = append(t.Ways, w)
	}
}

// makers returns those of the names that are read where a value is made that may hold it.
func makers(s *Flow, reads []syntax.Use, name string, made *Statement) (names []string) {
	for i := range reads {
		u := &reads[i]
		if u.Name != name && s.step() && makes(s, u, made) {
			names = append(names, u.Name)
		}
	}
	return names
}

// makes reports whether what a name leads to may have made a value and hold it.
func makes(s *Flow, u *syntax.Use, made *Statement) bool {
	switch full := s.full(u.Callee); {
	case s.modules[u.Name] != "":
		return s.leads(u.Name)
	case isBuiltin[u.Name] && len(s.made[u.Name]) == 0:
		return false
	case s.bodies[u.Name] != nil:
		return s.mayHold(u.Name, made)
	case s.dull(u.Name, made) || constant(s, u.Name) || s.knownCallee(u):
		return false
	case full != "" && stateless[firstPart(full)] && creators[lastPart(full)]:
		return false
	case gathers(s, u.Name, made):
		return u.Changed || u.How == syntax.Method || u.How == syntax.Argument
	}
	return true
}

// isData reports whether a name of the notebook is bound to something other than a module or a function.
func (s *Flow) isData(name string) bool {
	return s.modules[name] == "" && s.functions[name] == nil && len(s.made[name]) > 0
}

// dataOf returns the names of data that a function reads.
func (s *Flow) dataOf(f *syntax.Function) (names []string) {
	for i := range f.Reads {
		if s.isData(f.Reads[i].Name) {
			names = append(names, f.Reads[i].Name)
		}
	}
	return names
}
