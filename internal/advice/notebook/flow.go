package notebook

import (
	"slices"

	"ipytracer/internal/syntax"
)

// Flow is a notebook with what its statements do with names.
type Flow struct {
	n    *Notebook
	uses map[syntax.Stmt]*syntax.Uses
	// functions are those that cells define, bodies their source.
	functions syntax.Functions
	bodies    map[string][]*syntax.FunctionDef
	// modules has the full names of names that import statements bind: np → numpy, randn → numpy.random.randn.
	modules map[string]string
	// made are the statements that bind each name at the top of cells.
	made map[string][]*Statement
	// declared are names that functions bind.
	declared map[string]bool
	foreign  map[string]bool                 // names that may lead to a module that is not known; see [Scene.leads]
	blind    bool                            // a statement is not readable
	reached  map[syntax.Stmt]map[string]bool // see [Scene.reach]
	steps    int                             // that were gone, of maxSteps
}

// maxLooks bounds the uses of names that are looked at: sources are hostile.
const maxLooks = 4_000_000

// NewFlow reads a notebook.
func NewFlow(n *Notebook) *Flow {
	s := &Flow{n: n, uses: map[syntax.Stmt]*syntax.Uses{}, functions: syntax.Functions{},
		bodies: map[string][]*syntax.FunctionDef{}, modules: map[string]string{},
		made: map[string][]*Statement{}, declared: map[string]bool{}, foreign: map[string]bool{},
		reached: map[syntax.Stmt]map[string]bool{}}
	for _, st := range n.Statements {
		if st.Node == nil {
			s.blind = true
			continue
		}
		uses := s.uses[st.Node]
		if uses == nil {
			uses = syntax.Names(st.Node)
			s.uses[st.Node] = uses
			s.functions.Add(uses.Functions)
			declare(s, uses.Functions)
			s.define(st.Node)
		}
		for i := range uses.Binds {
			name := uses.Binds[i].Name
			s.made[name] = append(s.made[name], st)
		}
	}
	return s
}

// declare notes the names that functions bind.
func declare(s *Flow, functions syntax.Functions) {
	for _, f := range functions {
		for i := range f.Binds {
			s.declared[f.Binds[i].Name] = true
		}
	}
}

// define notes the modules and functions of a statement.
func (s *Flow) define(node syntax.Stmt) {
	syntax.Walk(node, func(n syntax.Node) bool {
		s.steps++
		switch x := n.(type) {
		case *syntax.Import, *syntax.ImportFrom:
			syntax.Modules(x, func(name, full string) { s.modules[name] = full })
		case *syntax.FunctionDef:
			s.bodies[x.Name] = append(s.bodies[x.Name], x)
		}
		return true
	})
}

// step counts something that is looked at, and reports whether there may be more.
func (s *Flow) step() bool {
	s.steps++
	return s.steps <= maxLooks
}

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

// readsOf returns the names that a statement reads when it runs.
func (s *Flow) readsOf(node syntax.Stmt) (names []string) {
	uses := s.uses[node]
	for i := range uses.Reads {
		names = append(names, uses.Reads[i].Name)
	}
	return names
}

// way returns how a statement hands on the value of a name, or something that may hold it.
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
