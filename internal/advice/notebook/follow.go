package notebook

import (
	"slices"

	"ipytracer/internal/syntax"
)

// Way is a statement by which another holder may have got a value.
type Way struct {
	At *Statement
	// Names are the names by which the holder can be reached: names that the statement binds or reads.
	Names []string
	// Fresh are those of Names that the statement binds.
	Fresh []string
	// Views: Fresh are bound to views of an array. A view lets go of the array only when its name is bound anew.
	Views bool
	// Hidden: the holder may be an object that no name of the notebook leads to, such as a figure of pyplot.
	Hidden bool
	// SureHolders are names that certainly hold the value until a statement changes them.
	SureHolders []string
}

// Trail lists the statements by which other holders may have got a value.
type Trail struct {
	Ways []Way
	made *Statement // the statement that made the value
	flow *Flow
	lost bool // the search ended early, at maxSteps
}

// Follow returns the trail of the value that the statement made gave a name, up to a moment.
func (s *Flow) Follow(name string, made *Statement, until *Moment) *Trail {
	t := &Trail{made: made, flow: s}
	tracked := map[string]bool{name: true}
	t.addBirth(name, made)
	for _, st := range s.n.Statements {
		if st.Order < made.Order || st.Order > until.Order || st.Node == nil {
			continue
		}
		if !s.step() {
			t.lost = true
			break
		}
		if w, ok := s.wayBy(st, name, tracked, st == made); ok {
			t.Ways = append(t.Ways, w)
			for _, holder := range w.Names {
				tracked[holder] = tracked[holder] || !isLastBoundToScalar(s, holder, st)
			}
		}
	}
	return t
}

// wayBy returns the way by which a statement passes on the value of a name, or of another tracked name. ok is false if
// the statement passes on nothing. isBirth says that the statement makes the value.
func (s *Flow) wayBy(st *Statement, name string, tracked map[string]bool, isBirth bool) (w Way, ok bool) {
	uses := s.uses[st.Node]
	var holders []string
	passesOn, isSimple := false, isBirth && isAssign(st.Node)
	for i := range uses.Reads {
		u := &uses.Reads[i]
		if !s.step() {
			return Way{At: st, Hidden: true}, true
		}
		if !tracked[u.Name] || isSimple && u.Name == name {
			continue // an assignment's right side reads the name's earlier value
		}
		if u.Aliased && !s.keepsNothing(st, u) {
			passesOn = true
			if u.Name == name && !u.Later {
				holders = append(holders, s.sureHolders(st, u)...)
			}
		}
	}
	if !isSimple {
		passesOn = passesOn || s.passesOnUnseen(st, tracked)
	}
	passesOn = passesOn || mayKeepFrames(s, st) && readsAny(s, st.Node, tracked)
	if !passesOn && !s.functionsPassOn(st.Node, tracked) {
		return w, false
	}
	return s.newWay(st, name, holders), true
}

// newWay returns the way by a statement, with all names by which a search may find the holder.
func (s *Flow) newWay(st *Statement, name string, sureHolders []string) Way {
	uses := s.uses[st.Node]
	w := Way{At: st, SureHolders: sureHolders}
	for i := range uses.Binds {
		if b := &uses.Binds[i]; b.Name != name && b.Kind != syntax.Excepted {
			w.Fresh = append(w.Fresh, b.Name)
		}
	}
	w.Names, w.Views = append(w.Names, w.Fresh...), s.isView(st, name)
	for read := range s.reach(st.Node) {
		switch {
		case read == name || isBuiltin[read] && len(s.binders[read]) == 0:
		case s.leadsToModule(read):
			w.Hidden = true
		case s.mayHold(read, st):
			w.Names = append(w.Names, read)
		}
	}
	if _, isExpr := st.Node.(*syntax.ExprStmt); isExpr {
		w.Names = append(w.Names, outputs...)
	}
	if uses.Dynamic || failed(st) || storesInModule(s, st) {
		w.Hidden = true // the traceback of a failed cell holds the locals of all its functions
	}
	slices.Sort(w.Names)
	w.Names = slices.Compact(w.Names)
	return w
}

// mayHold reports whether the value of a name can hold another value. Numbers cannot. A function can if it has a
// decorator, a default that is an object, or a global name that it binds.
func (s *Flow) mayHold(name string, at *Statement) bool {
	if f := s.functions[name]; f != nil {
		canHold := f.Loose || len(f.Binds) > 0
		for _, def := range s.bodies[name] {
			for _, a := range def.Args.All() {
				_, isConstant := a.Default.(*syntax.Constant)
				canHold = canHold || a.Default != nil && !isConstant
			}
		}
		return canHold
	}
	return s.modules[name] == "" && !s.isNumeric(name, at)
}

func isAssign(node syntax.Stmt) bool {
	switch node.(type) {
	case *syntax.Assign, *syntax.AnnAssign:
		return true
	}
	return false
}

// outputs are the names of IPython's history of outputs.
var outputs = []string{"Out", "_oh"}

// functionsPassOn reports whether a function that a statement reaches may pass on the value of one of the names.
func (s *Flow) functionsPassOn(node syntax.Stmt, tracked map[string]bool) bool {
	for called := range s.reach(node) {
		f := s.functions[called]
		if f == nil {
			continue
		}
		for _, def := range s.bodies[called] {
			if anyCallKeeps(s, def, tracked, nil) {
				return true
			}
		}
		for i := range f.Reads {
			u := &f.Reads[i]
			if !s.step() {
				return true
			}
			if tracked[u.Name] && u.Aliased && (!s.knownCallee(u) || mayReturnArgument(s, u, nil)) {
				return true
			}
		}
	}
	return s.uses[node].Dynamic
}

// addBirth adds the way by the statement that makes the value. Its holders are the assignment's other targets, and
// anything that may keep what it returns: a function with a decorator (which may be a cache), a function that changes
// other objects, an object whose method or property made the value, and a module.
func (t *Trail) addBirth(name string, made *Statement) {
	s, w := t.flow, Way{At: made}
	a, ok := made.Node.(*syntax.Assign)
	if ok && len(a.Targets) > 1 {
		for _, target := range a.Targets {
			if root := syntax.Root(target); root != name && root != "" {
				w.Names = append(w.Names, root)
			}
		}
	}
	w.Names = append(w.Names, possibleHolders(s, s.uses[made.Node].Reads, name, made)...)
	for called := range s.reach(made.Node) {
		f := s.functions[called]
		if f == nil {
			continue
		}
		stores := f.Loose || len(f.Binds) > 0
		for i := range f.Reads {
			stores = stores || f.Reads[i].Changed || f.Reads[i].Aliased && s.isData(f.Reads[i].Name)
		}
		w.Names = append(w.Names, possibleHolders(s, f.Reads, name, made)...)
		if stores {
			w.Names = append(w.Names, called)
			w.Names = append(w.Names, s.dataOf(f)...)
		}
	}
	if len(w.Names) > 0 {
		t.Ways = append(t.Ways, w)
	}
}

// possibleHolders returns the names, among those read while a value was made, whose value may hold the new value.
func possibleHolders(s *Flow, reads []syntax.Use, name string, made *Statement) (names []string) {
	for i := range reads {
		u := &reads[i]
		if u.Name != name && s.step() && mayHoldResult(s, u, made) {
			names = append(names, u.Name)
		}
	}
	return names
}

// mayHoldResult reports whether the value of a name that a statement reads may keep the value that the statement makes.
func mayHoldResult(s *Flow, u *syntax.Use, made *Statement) bool {
	switch full := s.fullName(u.Callee); {
	case s.modules[u.Name] != "":
		return s.leadsToModule(u.Name)
	case isBuiltin[u.Name] && len(s.binders[u.Name]) == 0:
		return false
	case s.bodies[u.Name] != nil:
		return s.mayHold(u.Name, made)
	case s.isPlainData(u.Name, made) || isBoundToLiterals(s, u.Name) || s.knownCallee(u):
		return false
	case full != "" && stateless[firstPart(full)] && creators[lastPart(full)]:
		return false
	case isContainer(s, u.Name, made):
		return u.Changed || u.How == syntax.Method || u.How == syntax.Argument
	}
	return true
}
