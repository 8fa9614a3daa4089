package notebook

import (
	"slices"

	"ipytracer/internal/syntax"
)

// Shown reports whether what holds the value at the session's end is all that held it at a moment: nothing that may
// have got it has changed since, nor had its name bound anew.
func (t *Trail) Shown(at *Moment) bool {
	if len(t.Ways) == 0 && !t.lost {
		return true
	}
	if t.lost || t.scene.blind {
		return false
	}
	held, views := map[string]bool{}, map[string]bool{}
	for i := range t.Ways {
		w := &t.Ways[i]
		if w.Hidden {
			return false
		}
		for _, name := range w.Names {
			fresh := slices.Contains(w.Fresh, name)
			switch {
			case fresh && t.scene.goneBefore(name, w.At, at):
			case fresh && w.Views:
				views[name] = true
			default:
				held[name] = true
			}
		}
	}
	for _, st := range t.scene.n.Statements {
		if st.Order >= at.Order && (!t.scene.step() || t.scene.changes(st, held) || t.scene.binds(st, views)) {
			return false
		}
	}
	return true
}

// Last returns the last statement by which the value may have come to another holder; the one that made it if none
// is known.
func (t *Trail) Last() *Statement {
	if len(t.Ways) == 0 {
		return t.made
	}
	return t.Ways[len(t.Ways)-1].At
}

// Held returns the name of something that surely holds the value at a moment; "" if there is none.
func (t *Trail) Held(at *Moment) string {
	for i := range t.Ways {
		w := &t.Ways[i]
		if t.lost {
			break
		}
		for _, name := range w.Into {
			if !t.scene.touched(name, w.At, at) {
				return name
			}
		}
	}
	return ""
}

// goneBefore reports whether a name that a statement bound is bound anew before a moment.
func (s *Flow) goneBefore(name string, bound *Statement, at *Moment) bool {
	return slices.ContainsFunc(s.made[name], func(st *Statement) bool {
		return st.Order > bound.Order && st.Order < at.Order && s.uses[st.Node].Bound(name)
	})
}

// touched reports whether, between a statement and a moment, another statement may make a name let go of what it holds.
func (s *Flow) touched(name string, bound *Statement, at *Moment) bool {
	one := map[string]bool{name: true}
	return slices.ContainsFunc(s.n.Statements, func(st *Statement) bool {
		return st.Order > bound.Order && st.Order < at.Order && (!s.step() || s.changes(st, one))
	})
}

// changes reports whether a statement may make one of the names let go of something: the statement binds the name anew,
// stores in it, hands it to a call, or calls a method of it.
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
		if !names[u.Name] || s.numbers(u.Name, st) {
			continue
		}
		if u.Changed || u.Later {
			return true
		}
		mentioned = true
	}
	for one := range s.reach(st.Node) {
		if f := s.functions[one]; f != nil && slices.ContainsFunc(f.Reads, func(u syntax.Use) bool {
			return names[u.Name]
		}) {
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
	is := func(b syntax.Bind) bool { return names[b.Name] }
	if slices.ContainsFunc(s.uses[st.Node].Binds, is) {
		return true
	}
	for one := range s.reach(st.Node) {
		if f := s.functions[one]; f != nil && slices.ContainsFunc(f.Binds, is) {
			return true
		}
	}
	return false
}

// onlyReads reports whether a statement does no more with the names than read their attributes and elements, compute
// with them, and call methods that sum them up. Anything else may change what they hold: a call, another method, a loop
// over a generator.
func (s *Flow) onlyReads(st *Statement, names map[string]bool) bool {
	isHarmless := true
	isRead := map[syntax.Node]bool{} // nodes that the node above them only reads; the walk visits that one first
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
				isHarmless = s.numbers(x.ID, st)
			}
		}
		return isHarmless && s.step()
	})
	return isHarmless && s.steps <= maxLooks
}

// resets reports whether a statement is a magic that may forget what cells have shown.
func resets(node syntax.Stmt) bool {
	m, ok := node.(*syntax.Magic)
	return ok && len(m.Body) == 0
}
