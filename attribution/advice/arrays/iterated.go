package arrays

import (
	"slices"
	"strings"

	"ipytracer/attribution/advice/evidence"
	"ipytracer/attribution/syntax"
	"ipytracer/model"
	"ipytracer/model/words"
)

// turns are a loop over a list that is made for it.
type turns struct {
	*finder
	cell *evidence.Cell
	loop *syntax.For
	// whole is the list in the code, and list what makes the items: a comprehension in brackets, or what list() goes
	// over.
	whole, list syntax.Expr
	text        string // the code that makes them one by one
}

// iterated finds loops over lists of arrays that are made for the loop alone.
func (s *finder) iterated() (found []evidence.Candidate) {
	m := s.n.Peak
	if m.Statement == nil {
		return nil
	}
	for _, t := range s.loopsOver(m) {
		if c, ok := t.candidate(m); ok {
			found = append(found, c)
		}
	}
	return found
}

// loopsOver returns the loops over lists that allocated arrays in the statement of a moment.
func (s *finder) loopsOver(m *evidence.Moment) (all []*turns) {
	type key struct{ execution, line int }
	seen := map[key]bool{}
	for site := range m.Made {
		if !isNumPy(site) {
			continue
		}
		for i := range site.Stack {
			f := &site.Stack[i]
			on := key{f.Execution, f.Line}
			cell := s.n.CellOf(f.Execution)
			if seen[on] || len(seen) > maxPlaces || cell == nil || cell.Tree == nil || !s.step() {
				continue
			}
			seen[on] = true
			node, _, _ := statementOn(cell, f.Line, m.Statement)
			loop, ok := node.(*syntax.For)
			if !ok || loop.Async || slices.ContainsFunc(all, func(t *turns) bool { return t.loop == loop }) {
				continue
			}
			t := &turns{finder: s, cell: cell, loop: loop}
			if t.read() {
				all = append(all, t)
			}
		}
	}
	slices.SortFunc(all, func(a, b *turns) int { return a.loop.Start.Offset - b.loop.Start.Offset })
	return all
}

// read finds what makes the items; false where it is no list.
func (t *turns) read() bool {
	t.whole = t.source()
	if x, ok := t.whole.(*syntax.Comp); ok {
		text := t.cell.Text(x)
		if x.Kind != "list" || x.Generators[0].Async || len(text) < 2 {
			return false
		}
		t.list, t.text = x, "("+text[1:len(text)-1]+")"
		return true
	}
	x, ok := t.whole.(*syntax.Call)
	if !ok || t.full(x.Func) != "builtins.list" || len(x.Args) != 1 || len(x.Keywords) > 0 {
		return false
	}
	t.list, t.text = x.Args[0], t.cell.Text(x.Args[0])
	switch of := x.Args[0].(type) {
	case *syntax.Comp:
		if of.Kind == "generator" && !strings.HasPrefix(t.text, "(") {
			t.text = "(" + t.text + ")"
		}
		return of.Kind == "generator" && !of.Generators[0].Async
	case *syntax.Call:
		return t.full(of.Func) == "builtins.map" || t.yields(of.Func)
	}
	return false
}

// source returns what the loop goes over: enumerate() and zip() go over their arguments item by item.
func (t *turns) source() syntax.Expr {
	x, ok := t.loop.Iter.(*syntax.Call)
	if !ok {
		return t.loop.Iter
	}
	switch t.full(x.Func) {
	case "builtins.enumerate":
		if len(x.Args) > 0 {
			return x.Args[0]
		}
	case "builtins.zip":
		for _, arg := range x.Args {
			switch arg.(type) {
			case *syntax.Comp, *syntax.Call:
				return arg
			}
		}
	}
	return x
}

// yields reports whether an expression is a function of the notebook that is a generator.
func (t *turns) yields(e syntax.Expr) (found bool) {
	name, ok := e.(*syntax.Name)
	if !ok || len(t.binds[name.ID]) != 1 {
		return false
	}
	def, ok := t.binds[name.ID][0].s.Node.(*syntax.FunctionDef)
	if !ok || def.Async || len(def.Decorators) > 0 {
		return false
	}
	t.walk(def, func(node syntax.Node) bool {
		switch node.(type) {
		case *syntax.Yield:
			found = true
		case *syntax.Lambda, *syntax.Comp:
			return false
		}
		return !found
	})
	return found
}

// makes reports whether a site's arrays were allocated for the items: its calls pass the list.
func (t *turns) makes(site *evidence.Site) bool {
	return isNumPy(site) && slices.ContainsFunc(site.Stack, func(f model.Frame) bool {
		p := t.list.Place()
		return f.Execution == t.cell.Window.Execution && f.Line >= p.Start.Line && f.Line <= p.End.Line
	})
}

// sizes returns the memory of the items, and what the loop would need of it if they came one by one: an item, and the
// next one while it is made, or what the body makes in a turn.
func (t *turns) sizes(m *evidence.Moment) (items, needs int64) {
	var part, made, kept, body int64
	for site, bytes := range m.Made {
		count := m.Count[site]
		switch {
		case !isNumPy(site) || count == 0:
		case t.makes(site):
			items += m.Live[site]
			made += bytes
			kept += m.Kept[site]
			part = max(part, bytes/count)
		case t.inBody(site):
			body += bytes / count
		}
	}
	if part == 0 || items/part < 4 || kept > 2*part {
		return 0, 0
	}
	return items, part + max(made/(items/part), body)
}

// inBody reports whether a site's calls pass the body of the loop.
func (t *turns) inBody(site *evidence.Site) bool {
	return slices.ContainsFunc(site.Stack, func(f model.Frame) bool {
		return f.Execution == t.cell.Window.Execution && f.Line > t.list.Place().End.Line && f.Line <= t.loop.End.Line
	})
}

func (t *turns) candidate(m *evidence.Moment) (c evidence.Candidate, ok bool) {
	first := t.loop.Body[0].Place().Start.Line
	if first <= t.loop.Iter.Place().End.Line || t.keeps() || !t.isApart() {
		return c, false
	}
	items, needs := t.sizes(m)
	p := &place{cell: t.cell, node: t.loop, running: m.Statement, moment: m}
	if items-needs < least {
		return c, false
	}
	c = p.candidate(Generator, nil, items-needs)
	c.Edits = replaced(t.cell, t.whole, t.text)
	c.Title = words.GeneratorForLoop(items)
	c.Changes = []string{words.ItemByItem()}
	return c, c.Edits != nil
}

// keeping are methods that keep their argument in their object.
var keeping = set("append", "extend", "insert", "add", "appendleft", "put", "setdefault", "update", "push", "send")

// body returns how the body of the loop uses names, and the names that the loop binds.
func (t *turns) body() *syntax.Uses {
	return syntax.Names(&syntax.For{Span: t.loop.Span, Target: t.loop.Target, Iter: &syntax.Constant{Kind: "None"},
		Body: t.loop.Body})
}

// keeps reports whether the body of the loop may keep an item, or a part of it, for longer than its turn.
func (t *turns) keeps() bool {
	items := map[string]bool{}
	t.walk(t.loop.Target, func(node syntax.Node) bool {
		if name, ok := node.(*syntax.Name); ok {
			items[name.ID] = true
		}
		return true
	})
	for _, use := range t.body().Reads {
		if !items[use.Name] || !use.Aliased && !use.Later {
			continue
		}
		if use.How != syntax.Argument || keeping[lastPart(use.Callee)] || t.inFunction() {
			return true
		}
	}
	return false
}

// lastPart returns what is behind the last dot of a name.
func lastPart(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// inFunction reports whether the loop is not at the top of its cell: the session may not show what outlived it.
func (t *turns) inFunction() bool {
	return !slices.ContainsFunc(t.cell.Tree.Body, func(s syntax.Stmt) bool { return s == syntax.Stmt(t.loop) })
}

// isApart reports whether the items are the same whether or not the body of the loop runs in between: they share no
// state that the source shows.
func (t *turns) isApart() bool {
	known := t.functions()
	items := reachOf(syntax.Names(&syntax.ExprStmt{Span: t.list.Place(), Value: t.list}), known)
	body := reachOf(t.body(), known)
	if items.dynamic || body.dynamic ||
		t.draws(t.list, items) && t.draws(&syntax.Module{Body: t.loop.Body}, body) {
		return false
	}
	for name := range items.reads {
		if body.binds[name] || body.reads[name] && !t.isConstant(name, known) {
			return false
		}
	}
	for name := range items.binds {
		if body.reads[name] || body.binds[name] {
			return false
		}
	}
	return true
}

// isConstant reports whether a name has the same value all the time: a module, a builtin, a function of the notebook,
// or a number that is bound once.
func (t *turns) isConstant(name string, known syntax.Functions) bool {
	all := t.binds[name]
	if t.shared[name] || len(all) != 1 {
		return len(all) == 0 && !t.shared[name] && (t.modules[name] != "" || isBuiltin(name))
	}
	b := all[0]
	return known[name] != nil || b.value != nil && t.of(b.value, at{order: b.order, offset: b.at}).sort == scalar
}
