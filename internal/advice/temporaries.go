package advice

import (
	"ipytracer/internal/advice/notebook"
	"ipytracer/internal/syntax"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// temporaries finds expressions whose intermediate arrays live at the highest moment, if fewer arrays would do.
func (s *finder) temporaries() (found []notebook.Candidate) {
	for _, p := range s.places {
		if p.live < least || p.Inside(isFunction) {
			continue
		}
		if c, ok := s.inPlace(p); ok {
			found = append(found, c)
		}
	}
	return found
}

// assigned returns the name and the value of an assignment to one name.
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
	first := "" // in alphabetical order, so that the result is always the same
	for name, module := range s.modules {
		if module == "numpy" && len(s.binds[name]) == 0 && (first == "" || name < first) {
			first = name
		}
	}
	return first
}

// inPlace returns the candidate about an assignment whose operations can write into one array.
func (s *finder) inPlace(p *arrayPlace) (c notebook.Candidate, ok bool) {
	name, expr, ok := assigned(p.Stmt)
	if !ok || s.global[name] || s.module() == "" {
		return c, false
	}
	final := s.valueOf(&syntax.Name{ID: name}, position{order: p.running.Order, offset: p.Stmt.Place().End.Offset})
	if final.sort != array || final.bytes < least || final.dtype == "" ||
		final.fromSource && p.largest() > final.bytes+least {
		return c, false
	}
	t := &inPlaceSteps{finder: s, cell: p.Cell, p: p.position(), np: s.module(), target: name, final: final,
		hoistedNames: map[syntax.Expr]string{}}
	if !s.isOrdered(expr, t.p) || !t.build(expr) || len(t.lines) == 1 {
		return c, false
	}
	saves := p.saves(t.peak, final.bytes)
	if saves < max(least, final.bytes/2) {
		return c, false
	}
	c = notebook.Candidate{Kind: InPlace, Cell: p.Cell, Line: p.Stmt.Place().Start.Line, Names: []string{name},
		Accuracy: model.SavesBound, Falls: falls(p.moment, p.limitedByOthers(saves)), Memory: p.running.Source()}
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

// reduced returns the array of which a call is a reduction; nil for other calls.
func (s *finder) reduced(call *syntax.Call) syntax.Expr {
	if name := s.numpyName(call.Func); name != "" {
		if reductions[name] && name != "vdot" && len(call.Args) > 0 {
			return call.Args[0]
		}
		return nil
	}
	if object, name, _ := s.method(call); object != nil && reductions[name] {
		return object
	}
	return nil
}

func isFunction(stmt syntax.Stmt) bool {
	_, is := stmt.(*syntax.FunctionDef)
	return is
}
