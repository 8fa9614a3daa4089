package notebook

import (
	"slices"

	"ipytracer/internal/syntax"
)

// Way is a statement by which a value may have come to another holder.
type Way struct {
	At *Statement
	// Names lead to the holder: those that the statement binds, and those that it reads. Fresh are the former.
	Names, Fresh []string
	// Views reports that Fresh have views of an array, which let go of it only where the name is bound anew.
	Views bool
	// Hidden reports that no name of the notebook needs to lead to the holder, as with a figure of pyplot.
	Hidden bool
	// Into are names that surely lead to a holder, up to where they are changed.
	Into []string
}

// Trail is where the value of a name went.
type Trail struct {
	Ways  []Way
	made  *Statement
	scene *Flow
	lost  bool // there was too much to look at
}

// Follow returns where the value went that a statement gave a name, up to a moment.
func (s *Flow) Follow(name string, made *Statement, until *Moment) *Trail {
	t := &Trail{made: made, scene: s}
	tracked := map[string]bool{name: true}
	t.born(name, made)
	for _, st := range s.n.Statements {
		if st.Order < made.Order || st.Order > until.Order || st.Node == nil {
			continue
		}
		if !s.step() {
			t.lost = true
			break
		}
		if w, ok := s.way(st, name, tracked, st == made); ok {
			t.Ways = append(t.Ways, w)
			for _, one := range w.Names {
				tracked[one] = tracked[one] || !becomesNumber(s, one, st)
			}
		}
	}
	return t
}

// way returns how a statement hands on the value of a name, or something that may hold it. birth: the statement is the
// one that makes the value.
func (s *Flow) way(st *Statement, name string, tracked map[string]bool, birth bool) (w Way, ok bool) {
	uses := s.uses[st.Node]
	var into []string
	handed, simple := false, birth && isAssign(st.Node)
	for i := range uses.Reads {
		u := &uses.Reads[i]
		if !s.step() {
			return Way{At: st, Hidden: true}, true
		}
		if !tracked[u.Name] || simple && u.Name == name {
			continue // what is assigned reads the value before
		}
		if u.Aliased && !s.keepsNothing(st, u) {
			handed = true
			if u.Name == name && !u.Later {
				into = append(into, s.surely(st, u)...)
			}
		}
	}
	if !simple {
		handed = handed || s.handsOnOtherwise(st, tracked)
	}
	handed = handed || mayKeepFrames(s, st) && touches(s, st.Node, tracked)
	if !handed && !s.bodiesHand(st.Node, tracked) {
		return w, false
	}
	return s.wayOf(st, name, into), true
}

// wayOf returns a way with all names that may lead to the holder.
func (s *Flow) wayOf(st *Statement, name string, into []string) Way {
	uses := s.uses[st.Node]
	w := Way{At: st, Into: into}
	for i := range uses.Binds {
		if b := &uses.Binds[i]; b.Name != name && b.Kind != syntax.Excepted {
			w.Fresh = append(w.Fresh, b.Name)
		}
	}
	w.Names, w.Views = append(w.Names, w.Fresh...), s.isView(st, name)
	for one := range s.reach(st.Node) {
		switch {
		case one == name || isBuiltin[one] && len(s.made[one]) == 0:
		case s.leads(one):
			w.Hidden = true
		case s.mayHold(one, st):
			w.Names = append(w.Names, one)
		}
	}
	if _, is := st.Node.(*syntax.ExprStmt); is {
		w.Names = append(w.Names, outputs...)
	}
	if uses.Dynamic || failed(st) || storesInModule(s, st) {
		w.Hidden = true // a traceback has the values of all functions
	}
	slices.Sort(w.Names)
	w.Names = slices.Compact(w.Names)
	return w
}

// mayHold reports whether the value of a name may hold what it gets: numbers do not, and of functions those that have
// a decorator, an argument that stays, or a name of the notebook that they bind.
func (s *Flow) mayHold(name string, at *Statement) bool {
	if f := s.functions[name]; f != nil {
		stays := f.Loose || len(f.Binds) > 0
		for _, def := range s.bodies[name] {
			for _, a := range def.Args.All() {
				_, constant := a.Default.(*syntax.Constant)
				stays = stays || a.Default != nil && !constant
			}
		}
		return stays
	}
	return s.modules[name] == "" && !s.numbers(name, at)
}

func isAssign(node syntax.Stmt) bool {
	switch node.(type) {
	case *syntax.Assign, *syntax.AnnAssign:
		return true
	}
	return false
}

// outputs are the names by which IPython has what cells show.
var outputs = []string{"Out", "_oh"}

// bodiesHand reports whether a function that a statement reaches reads one of the names, and may hand it on.
func (s *Flow) bodiesHand(node syntax.Stmt, tracked map[string]bool) bool {
	for called := range s.reach(node) {
		f := s.functions[called]
		if f == nil {
			continue
		}
		for _, def := range s.bodies[called] {
			if strays(s, def, tracked, nil) {
				return true
			}
		}
		for i := range f.Reads {
			u := &f.Reads[i]
			if !s.step() {
				return true
			}
			if tracked[u.Name] && u.Aliased && (!s.knownCallee(u) || handsElements(s, u, nil)) {
				return true
			}
		}
	}
	return s.uses[node].Dynamic
}

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

// makers returns the names by which something that helped to make a value may hold it.
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
