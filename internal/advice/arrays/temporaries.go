package arrays

import (
	"ipytracer/internal/advice/notebook"
	"ipytracer/internal/syntax"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// temporaries finds expressions whose intermediate arrays live at the highest moment, and that can do without some.
func (s *finder) temporaries() (found []notebook.Candidate) {
	for _, p := range s.hot {
		if p.live < least || p.Inside(isFunction) {
			continue
		}
		if c, ok := s.inPlace(p); ok {
			found = append(found, c)
		}
	}
	return found
}

// assigned returns the name that a statement binds, and its value.
func assigned(node syntax.Stmt) (name string, expr syntax.Expr, ok bool) {
	assign, ok := node.(*syntax.Assign)
	if !ok || len(assign.Targets) != 1 {
		return "", nil, false
	}
	target, ok := assign.Targets[0].(*syntax.Name)
	if !ok {
		return "", nil, false
	}
	return target.ID, assign.Value, true
}

// module returns a name by which the notebook calls NumPy; "" if it has none.
func (s *finder) module() string {
	best := ""
	for name, of := range s.modules {
		if of == "numpy" && len(s.binds[name]) == 0 && (best == "" || name < best) {
			best = name
		}
	}
	return best
}

// inPlace is about an assignment whose steps can write into one array.
func (s *finder) inPlace(p *place) (c notebook.Candidate, ok bool) {
	name, expr, ok := assigned(p.Stmt)
	if !ok || s.shared[name] || s.module() == "" {
		return c, false
	}
	final := s.of(&syntax.Name{ID: name}, at{order: p.running.Order, offset: p.Stmt.Place().End.Offset})
	if final.sort != array || final.bytes < least || final.dtype == "" ||
		final.told && p.largest() > final.bytes+least {
		return c, false
	}
	t := &steps{finder: s, c: p.Cell, p: p.at(), np: s.module(), target: name, final: final,
		known: map[syntax.Expr]string{}}
	if !s.isOrdered(expr, t.p) || !t.build(expr) || len(t.lines) == 1 {
		return c, false
	}
	saves := p.saves(t.peak, final.bytes)
	if saves < max(least, final.bytes/2) {
		return c, false
	}
	c = notebook.Candidate{Kind: InPlace, Cell: p.Cell, Line: p.Stmt.Place().Start.Line, Names: []string{name},
		Accuracy: model.SavesBound, Falls: falls(p.moment, p.beside(saves)), Of: p.running.Source()}
	lines := append(t.hoisted, t.lines...)
	body, last := p.Cell.Tree.Body, &lines[len(lines)-1]
	if _, _, alone := p.Margins(); !alone || body[len(body)-1] == p.Stmt {
		*last = unshown(*last)
	}
	if c.Edits = p.Instead(lines); c.Edits == nil {
		return c, false
	}
	c.Title = words.InPlace(name, final.bytes, saves)
	c.Changes = []string{words.InPlaceChanges()}
	return c, true
}

// reduced returns the array that a reduction is of; nil for other calls.
func (s *finder) reduced(call *syntax.Call) syntax.Expr {
	if name := s.numpy(call.Func); name != "" {
		if reductions[name] && name != "vdot" && len(call.Args) > 0 {
			return call.Args[0]
		}
		return nil
	}
	if of, name, _ := s.method(call); of != nil && reductions[name] {
		return of
	}
	return nil
}

func isFunction(stmt syntax.Stmt) bool {
	_, is := stmt.(*syntax.FunctionDef)
	return is
}
