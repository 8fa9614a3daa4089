package notebook

import (
	"slices"

	"ipytracer/internal/syntax"
)

// Shown reports whether the session's end shows all holders that the value had at a moment: since that moment no
// statement may have changed a possible holder or bound its name anew.
func (t *Trail) Shown(at *Moment) bool {
	if len(t.Ways) == 0 && !t.lost {
		return true
	}
	if t.lost || t.flow.unreadable {
		return false
	}
	holders, views := map[string]bool{}, map[string]bool{}
	for i := range t.Ways {
		w := &t.Ways[i]
		if w.Hidden {
			return false
		}
		for _, name := range w.Names {
			fresh := slices.Contains(w.Fresh, name)
			switch {
			case fresh && t.flow.reboundBefore(name, w.At, at):
			case fresh && w.Views:
				views[name] = true
			default:
				holders[name] = true
			}
		}
	}
	for _, st := range t.flow.n.Statements {
		if st.Order >= at.Order && (!t.flow.step() || t.flow.changes(st, holders) || t.flow.binds(st, views)) {
			return false
		}
	}
	return true
}

// Last returns the last statement by which another holder may have got the value; the statement that made the value if
// there is none.
func (t *Trail) Last() *Statement {
	if len(t.Ways) == 0 {
		return t.made
	}
	return t.Ways[len(t.Ways)-1].At
}

// Held returns a name that certainly holds the value at a moment; "" if there is none.
func (t *Trail) Held(at *Moment) string {
	for i := range t.Ways {
		w := &t.Ways[i]
		if t.lost {
			break
		}
		for _, name := range w.SureHolders {
			if !t.flow.changedBetween(name, w.At, at) {
				return name
			}
		}
	}
	return ""
}

// reboundBefore reports whether a name that a statement bound is bound anew before a moment.
func (s *Flow) reboundBefore(name string, bound *Statement, at *Moment) bool {
	return slices.ContainsFunc(s.binders[name], func(st *Statement) bool {
		return st.Order > bound.Order && st.Order < at.Order && s.uses[st.Node].Bound(name)
	})
}

// changedBetween reports whether a statement between bound and a moment may make a name let go of what it holds.
func (s *Flow) changedBetween(name string, bound *Statement, at *Moment) bool {
	names := map[string]bool{name: true}
	return slices.ContainsFunc(s.n.Statements, func(st *Statement) bool {
		return st.Order > bound.Order && st.Order < at.Order && (!s.step() || s.changes(st, names))
	})
}

// changes reports whether a statement may make one of the names let go of something: it binds the name anew, stores in
// its value, passes the value to a call, or calls a method of the value.
func (s *Flow) changes(st *Statement, names map[string]bool) bool {
	if st.Node == nil {
		return true
	}
	if s.binds(st, names) {
		return true
	}
	uses, mentioned := s.uses[st.Node], false
	for i := range uses.Reads {
		u := &uses.Reads[i]
		if !names[u.Name] || s.isNumeric(u.Name, st) {
			continue
		}
		if u.Changed || u.Later {
			return true
		}
		mentioned = true
	}
	isOneOf := func(u syntax.Use) bool { return names[u.Name] }
	for name := range s.reach(st.Node) {
		if f := s.functions[name]; f != nil && slices.ContainsFunc(f.Reads, isOneOf) {
			return true
		}
	}
	if names["Out"] && resets(st.Node) {
		return true
	}
	return uses.BindsAny || mentioned && !s.onlyReads(st, names)
}

// binds reports whether a statement, or a function that it reaches, may bind one of the names.
func (s *Flow) binds(st *Statement, names map[string]bool) bool {
	if st.Node == nil {
		return true
	}
	isOneOf := func(b syntax.Bind) bool { return names[b.Name] }
	if slices.ContainsFunc(s.uses[st.Node].Binds, isOneOf) {
		return true
	}
	for name := range s.reach(st.Node) {
		if f := s.functions[name]; f != nil && slices.ContainsFunc(f.Binds, isOneOf) {
			return true
		}
	}
	return false
}

// onlyReads reports whether a statement only reads attributes and elements of the names' values, computes with them, or
// calls their methods that summarize. Any other use may change what a value holds: a call, another method, a loop over
// a generator.
func (s *Flow) onlyReads(st *Statement, names map[string]bool) bool {
	isHarmless := true
	isRead := map[syntax.Node]bool{} // children that their parent node only reads; the walk visits the parent first
	syntax.Walk(st.Node, func(n syntax.Node) bool {
		switch x := n.(type) {
		case *syntax.Call:
			method, isMethod := x.Func.(*syntax.Attribute)
			if isMethod && names[syntax.Base(method.Value)] && !summaries[method.Attr] {
				isHarmless = false
			}
		case *syntax.Attribute:
			isRead[x.Value] = true
		case *syntax.Subscript:
			isRead[x.Value] = true
		case *syntax.BinOp:
			isRead[x.Left], isRead[x.Right] = true, true
		case *syntax.Name:
			if mayChange := names[x.ID] && !isRead[x]; isHarmless && mayChange {
				isHarmless = s.isNumeric(x.ID, st)
			}
		}
		return isHarmless && s.step()
	})
	return isHarmless && s.steps <= maxSteps
}

// resets reports whether a statement is a magic that may clear the history of outputs.
func resets(node syntax.Stmt) bool {
	m, ok := node.(*syntax.Magic)
	return ok && len(m.Body) == 0
}
