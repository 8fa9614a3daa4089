package arrays

import (
	"maps"
	"slices"

	"ipytracer/internal/advice/evidence"
	"ipytracer/internal/syntax"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// temporaries finds expressions whose intermediate arrays live at the highest moment, and that can do without some.
func (s *finder) temporaries() (found []evidence.Candidate) {
	for _, p := range s.hot {
		if p.live < least {
			continue
		}
		if p.inFunction {
			if p.in = s.calleeOf(p); p.in == nil {
				continue
			}
		}
		if c, ok := s.temporary(p); ok {
			found = append(found, c)
		}
	}
	return found
}

// temporary returns the first change with NumPy that a place has.
func (s *finder) temporary(p *place) (evidence.Candidate, bool) {
	for _, rule := range []func(*place) (evidence.Candidate, bool){s.inPlace, s.hypotenuse, s.insideSum} {
		if c, ok := rule(p); ok {
			return c, true
		}
	}
	return evidence.Candidate{}, false
}

// candidate returns advice about the memory of a place at the moment.
func (p *place) candidate(kind string, names []string, saves int64) evidence.Candidate {
	saves = p.beside(saves)
	return evidence.Candidate{Kind: kind, Cell: p.cell, Line: p.node.Place().Start.Line, Names: names,
		Accuracy: model.SavesBound, Falls: falls(p.moment, saves), Of: p.running.Source()}
}

// beside returns how much of a saving is left by the other lines of a function, or of a cell that runs as one
// statement: nobody recorded how high each of them was, but none was higher than what stood there and all that it made.
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

// around returns the lines of the function that a place is in, or of the cell that runs as one statement; 0 if it is in
// none.
func (p *place) around() (from, to int) {
	for _, st := range p.path {
		m, ok := st.(*syntax.Magic)
		_, function := st.(*syntax.FunctionDef)
		if function || ok && len(m.Body) > 1 {
			from, to = st.Place().Start.Line, st.Place().End.Line
		}
	}
	return from, to
}

// lineIn returns the innermost line of some lines of a cell that is among the calls; 0 if there is none.
func lineIn(site *evidence.Site, c *evidence.Cell, from, to int) int {
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
	if len(p.path) == 0 {
		return true
	}
	for _, st := range p.path {
		switch x := st.(type) {
		case *syntax.FunctionDef, *syntax.If, *syntax.With:
		case *syntax.Magic:
			if x.Name() != "time" {
				return false
			}
		default:
			return false
		}
	}
	return p.in == nil && !p.inFunction || p.in != nil && p.in.once
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
func (s *finder) inPlace(p *place) (c evidence.Candidate, ok bool) {
	name, e, ok := assigned(p.node)
	r, returns := p.node.(*syntax.Return)
	if returns && p.in != nil && r.Value != nil {
		name, e, ok = s.free("result"), r.Value, true
	}
	if !ok || s.shared[name] || s.module() == "" {
		return c, false
	}
	final := s.of(e, p.at())
	if p.in == nil {
		final = s.of(&syntax.Name{ID: name}, at{order: p.running.Order, offset: p.node.Place().End.Offset})
	}
	if final.sort != array || final.bytes < least || final.dtype == "" ||
		final.told && p.largest() > final.bytes+least {
		return c, false
	}
	if c, ok = s.sorted(p, name, e, final); ok {
		return c, true
	}
	t := &steps{finder: s, c: p.cell, p: p.at(), np: s.module(), target: name, final: final,
		known: map[syntax.Expr]string{}}
	again := s.mentions(e, name) && p.in == nil
	t.inPlace = again && s.onlyIn(name, t.p, p.running)
	if !s.isOrdered(e, t.p) || !t.build(e) || (again && !t.inPlace || returns) && len(t.lines) == 1 {
		return c, false
	}
	saves := p.saves(t.peak, final.bytes)
	if saves < max(least, final.bytes/2) {
		return c, false
	}
	lines := append(t.hoisted, t.lines...)
	if returns {
		lines = append(lines, "return "+name)
	}
	names := []string{name}
	if returns {
		names = nil
	}
	c = p.candidate(InPlace, names, saves)
	if c.Edits, ok = instead(p.cell, p.node, lines); !ok {
		return c, false
	}
	c.Title = words.InPlace(name, final.bytes, saves, t.inPlace)
	c.Changes = []string{words.InPlaceChanges(name, t.inPlace)}
	return c, true
}

// sorted is about x = np.sort(x).
func (s *finder) sorted(p *place, name string, e syntax.Expr, final value) (c evidence.Candidate, ok bool) {
	of, call := s.call(e)
	if call == nil || of != "sort" || len(call.Args) != 1 || len(call.Keywords) > 0 {
		return c, false
	}
	arg, ok := call.Args[0].(*syntax.Name)
	if !ok || arg.ID != name || !s.onlyIn(name, p.at(), p.running) {
		return c, false
	}
	saves := p.saves(0, final.bytes)
	if saves < max(least, final.bytes/2) {
		return c, false
	}
	c = p.candidate(InPlace, []string{name}, saves)
	if c.Edits, ok = instead(p.cell, p.node, []string{name + ".sort()"}); !ok {
		return c, false
	}
	c.Title = words.InPlace(name, final.bytes, saves, true)
	c.Changes = []string{words.InPlaceChanges(name, true)}
	return c, true
}

// insideSum is about a sum or a mean of an expression with intermediate arrays: one array is enough.
func (s *finder) insideSum(p *place) (c evidence.Candidate, ok bool) {
	inner, arg := s.reduction(p.node)
	if inner == nil || s.module() == "" {
		return c, false
	}
	v := s.of(arg, p.at())
	if v.sort != array || v.bytes < least || !v.isFloat() || v.told && p.largest() > v.bytes+least {
		return c, false
	}
	t := &steps{finder: s, c: p.cell, p: p.at(), np: s.module(), target: s.free("work"), final: v,
		known: map[syntax.Expr]string{}}
	if !s.isOrdered(arg, t.p) || !t.build(arg) || len(t.lines) < 2 { // one step has nothing to write into
		return c, false
	}
	if s.hasAxis(inner) {
		t.peak += s.alongAxis(v, inner)
	}
	saves := p.saves(t.peak, 0)
	if saves < max(least, v.bytes/2) {
		return c, false
	}
	lines, ok := s.around(p, arg, t.target)
	if !ok {
		return c, false
	}
	lines = append(append(t.hoisted, t.lines...), lines...)
	c = p.candidate(InPlace, nil, saves)
	if c.Edits, ok = instead(p.cell, p.node, lines); !ok {
		return c, false
	}
	c.Title = words.InsideSum(t.target, v.bytes, saves)
	c.Changes = []string{words.SameNumbers()}
	return c, true
}

// reduction returns the only reduction of an elementwise expression in a statement, and that expression.
func (s *finder) reduction(node syntax.Stmt) (found *syntax.Call, arg syntax.Expr) {
	several := false
	s.walk(node, func(n syntax.Node) bool {
		switch x := n.(type) {
		case *syntax.Lambda, *syntax.Comp, *syntax.IfExp, *syntax.BoolOp, *syntax.For, *syntax.If, *syntax.FunctionDef:
			return false
		case *syntax.Call:
			e := s.reduced(x)
			if e == nil || isPath(e) {
				return true
			}
			several = several || found != nil
			found, arg = x, e
			return false
		}
		return true
	})
	if several {
		return nil, nil
	}
	return found, arg
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

// around returns the lines of a statement with a name in the place of an expression, and one that lets go of it.
func (s *finder) around(p *place, arg syntax.Expr, name string) ([]string, bool) {
	if p.node.Place().Start.Line != p.node.Place().End.Line {
		return nil, false
	}
	whole := p.cell.Text(p.node)
	from := arg.Place().Start.Offset - p.node.Place().Start.Offset
	to := arg.Place().End.Offset - p.node.Place().Start.Offset
	if from < 0 || to > len(whole) || from > to {
		return nil, false
	}
	text := whole[:from] + name + whole[to:]
	e, ok := p.node.(*syntax.ExprStmt)
	if _, returns := p.node.(*syntax.Return); returns {
		return []string{text}, true
	}
	if !ok {
		return []string{text, "del " + name}, true
	}
	if len(p.path) > 0 {
		return nil, false
	}
	if inner, ok := e.Value.(*syntax.Call); ok && s.reduced(inner) == arg { // its value is shown
		return []string{name + " = " + text, name}, true
	}
	return []string{text, "del " + name}, s.isPrint(e.Value)
}

func (s *finder) isPrint(e syntax.Expr) bool {
	c, ok := e.(*syntax.Call)
	return ok && s.full(c.Func) == "builtins.print"
}
