package arrays

import (
	"maps"
	"slices"

	"ipytracer/internal/advice/notebook"
	"ipytracer/internal/syntax"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// temporaries finds expressions whose intermediate arrays live at the highest moment, and that can do without some.
func (s *finder) temporaries() (found []notebook.Candidate) {
	for _, p := range s.hot {
		if p.live < least || p.inFunction {
			continue
		}
		if c, ok := s.inPlace(p); ok {
			found = append(found, c)
		}
	}
	return found
}

// beside returns how much of a saving is left by the other lines of a cell that runs as one statement: nobody recorded
// how high each of them was, but none was higher than what stood there and all that it made.
func (p *place) beside(saves int64) int64 {
	from, to := p.around()
	if to == 0 || !p.isOnce() {
		return saves
	}
	made, live := map[int]int64{}, map[int]int64{}
	for site, bytes := range p.moment.Made {
		if line := lineIn(site, p.cell, from, to); line > 0 && isNumPy(site) {
			made[line] += bytes
			live[line] += p.moment.Live[site]
		}
	}
	at, stood, highest := p.node.Place(), int64(0), int64(0)
	for _, line := range slices.Sorted(maps.Keys(made)) {
		switch {
		case line < at.Start.Line:
			highest = max(highest, stood+max(made[line], live[line]))
			stood += live[line]
		case line <= at.End.Line:
			stood += live[line]
		default:
			saves -= made[line] // beside what the place leaves
		}
	}
	return min(saves, stood-highest)
}

// around returns the lines of the cell that runs as one statement and that a place is in; 0 if it is in none.
func (p *place) around() (from, to int) {
	for _, st := range p.path {
		if m, ok := st.(*syntax.Magic); ok && len(m.Body) > 1 {
			from, to = st.Place().Start.Line, st.Place().End.Line
		}
	}
	return from, to
}

// lineIn returns the innermost line of some lines of a cell that is among the calls; 0 if there is none.
func lineIn(site *notebook.Site, c *notebook.Cell, from, to int) int {
	for i := range site.Stack {
		if f := &site.Stack[i]; f.Execution == c.Window.Execution && from <= f.Line && f.Line <= to {
			return f.Line
		}
	}
	return 0
}

// assigned returns the name that a statement binds, and its value.
func assigned(node syntax.Stmt) (name string, e syntax.Expr, ok bool) {
	a, ok := node.(*syntax.Assign)
	if !ok || len(a.Targets) != 1 {
		return "", nil, false
	}
	target, ok := a.Targets[0].(*syntax.Name)
	if !ok {
		return "", nil, false
	}
	return target.ID, a.Value, true
}

// saves returns by how much a place's memory would fall if it needed only so much, besides the target of the same size
// that a loop had before.
func (p *place) saves(needs, target int64) int64 {
	if p.isOnce() {
		return p.live - needs
	}
	if p.kept > target+target/2 {
		return p.live - p.kept - max(0, needs-target)
	}
	return p.live - target - needs
}

// largest returns the mean size of the blocks of the call that made the largest ones.
func (p *place) largest() (most int64) {
	for _, site := range p.sites {
		if n := p.moment.Count[site]; n > 0 {
			most = max(most, p.moment.Made[site]/n)
		}
	}
	return most
}

// isOnce reports whether the running statement ran a place once.
func (p *place) isOnce() bool {
	for _, st := range p.path {
		switch x := st.(type) {
		case *syntax.If, *syntax.With:
		case *syntax.Magic:
			if x.Name() != "time" {
				return false
			}
		default:
			return false
		}
	}
	return true
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
	name, e, ok := assigned(p.node)
	if !ok || s.shared[name] || s.module() == "" {
		return c, false
	}
	final := s.of(&syntax.Name{ID: name}, at{order: p.running.Order, offset: p.node.Place().End.Offset})
	if final.sort != array || final.bytes < least || final.dtype == "" ||
		final.told && p.largest() > final.bytes+least {
		return c, false
	}
	t := &steps{finder: s, c: p.cell, p: p.at(), np: s.module(), target: name, final: final,
		known: map[syntax.Expr]string{}}
	if !s.isOrdered(e, t.p) || !t.build(e) || len(t.lines) == 1 {
		return c, false
	}
	saves := p.saves(t.peak, final.bytes)
	if saves < max(least, final.bytes/2) {
		return c, false
	}
	c = notebook.Candidate{Kind: InPlace, Cell: p.cell, Line: p.node.Place().Start.Line, Names: []string{name},
		Accuracy: model.SavesBound, Falls: falls(p.moment, p.beside(saves)), Of: p.running.Source()}
	if c.Edits, ok = instead(p.cell, p.node, append(t.hoisted, t.lines...)); !ok {
		return c, false
	}
	c.Title = words.InPlace(name, final.bytes, saves)
	c.Changes = []string{words.InPlaceChanges()}
	return c, true
}

// reduced returns the array that a reduction is of; nil for other calls.
func (s *finder) reduced(x *syntax.Call) syntax.Expr {
	if name := s.numpy(x.Func); name != "" {
		if reductions[name] && name != "vdot" && len(x.Args) > 0 {
			return x.Args[0]
		}
		return nil
	}
	if of, name, _ := s.method(x); of != nil && reductions[name] {
		return of
	}
	return nil
}
