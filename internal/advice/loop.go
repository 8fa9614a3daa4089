package advice

import (
	"ipytracer/internal/advice/notebook"
	"ipytracer/internal/syntax"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// loops finds values of a loop that are still there while the next one is made.
//
// The rule: a statement right in the body of a loop binds a name that nothing in the body reads before it. The name is
// read neither behind the loop nor by functions, and no statement hands its value on. At the highest moment, or a later
// one, two blocks of the calls that made the value live at once. Of a tensor that others are made of there is none,
// unless gradients are off: PyTorch's graph may hold it.
func loops(l *lives) (found []notebook.Candidate) {
	tried := 0
	for _, c := range l.n.Cells {
		if c.Tree == nil {
			continue
		}
		for _, scope := range scopesOf(c.Tree) {
			for _, one := range scope.loops() {
				if p := one.body[one.at].Place(); !l.alive(c, p.Start.Line, p.End.Line) {
					continue
				}
				if tried++; tried > maxTried {
					return found
				}
				if candidate, ok := l.loop(c, scope, one); ok {
					found = append(found, candidate)
				}
			}
		}
	}
	return found
}

// turn is a statement in the body of a loop that binds a name.
type turn struct {
	loop syntax.Stmt
	body []syntax.Stmt
	at   int // its index in body
	name string
}

// loops returns the statements of the scope's loops that bind one name.
func (s *scope) loops() (all []turn) {
	for _, one := range s.body {
		syntax.Walk(one, func(node syntax.Node) bool {
			switch n := node.(type) {
			case *syntax.FunctionDef, *syntax.ClassDef, *syntax.Lambda:
				return false
			case *syntax.For:
				all = append(all, turns(n, n.Body)...)
			case *syntax.While:
				all = append(all, turns(n, n.Body)...)
			}
			return true
		})
	}
	return all
}

func turns(loop syntax.Stmt, body []syntax.Stmt) (all []turn) {
	for i, one := range body {
		if a, ok := one.(*syntax.Assign); ok && len(a.Targets) == 1 {
			if name, ok := a.Targets[0].(*syntax.Name); ok && a.Place().Start.Line > loop.Place().Start.Line {
				all = append(all, turn{loop, body, i, name.ID})
			}
		}
	}
	return all
}

// last returns the index of the last statement of the body that reads the name; ok is false where the value is handed
// on, or is read before it is bound.
func (t *turn) last() (at int, ok bool) {
	at = t.at
	for i, one := range t.body {
		m := mentions(one, t.name)
		switch {
		case m.escapes:
			return 0, false
		case i <= t.at && m.reads > 0, i != t.at && m.binds:
			return 0, false
		case m.reads > 0:
			at = i
		}
	}
	if w, isWhile := t.loop.(*syntax.While); isWhile && reads(w.Test, t.name) {
		return 0, false
	}
	return at, true
}

// loop returns the candidate for one name of a loop.
func (l *lives) loop(cell *notebook.Cell, s scope, t turn) (out notebook.Candidate, ok bool) {
	n := l.n
	last, ok := t.last()
	if !ok || s.usedBehind(t) || s.function == nil && l.usedLater(cell, t.name) {
		return out, false
	}
	made := t.body[t.at].Place()
	of := func(site *notebook.Site) bool {
		return site.On(cell, s.name(), made.Start.Line, made.End.Line) && !site.OfNetwork()
	}
	if twice(n.Peak, of) == 0 && n.Saves(func(m *notebook.Moment) int64 { return twice(m, of) }) == 0 {
		return out, false
	}
	if last > t.at && s.inGraph(n, cell, t.body[t.at]) ||
		t.body[last].Place().Start.Line == t.loop.Place().Start.Line {
		return out, false
	}
	edits, ok := spotIn(cell, t.body, last).Behind("del " + t.name)
	if !ok {
		return out, false
	}
	return notebook.Candidate{
		Kind: "loop", Cell: cell, Line: made.Start.Line, Names: []string{t.name}, Accuracy: model.SavesBound,
		Edits:   edits,
		Falls:   func(m *notebook.Moment) int64 { return twice(m, of) },
		Of:      words.NameKey(cell.Window.ID, t.name),
		Title:   words.LoopHolds(t.name, twice(n.Peak, of), cell.Place(made.Start.Line)),
		Changes: []string{words.LoopGone(t.name)},
	}, true
}

// twice returns the bytes of the value before the current one, at a moment in which the loop makes the next.
//
// That value is there in each turn but the first. In a cell its size is what the loop leaves behind. In a function it
// is gone in the end: its size is then what the calls have beyond as many whole turns as fit. With blocks of one size
// that is one block, with others less than the value.
func twice(moment *notebook.Moment, of func(*notebook.Site) bool) (bytes int64) {
	for site, live := range moment.Live {
		count := moment.Count[site]
		if !of(site) || site.Meter == "cpu.mapped" || count < 2 {
			continue
		}
		one := moment.Made[site] / count
		if one == 0 || live <= one+one/50 {
			continue
		}
		if kept := moment.Kept[site]; kept > 0 {
			bytes += min(kept, live-kept)
			continue
		}
		left := live % one
		if left <= one/50 || left >= one-one/50 {
			left = one
		}
		bytes += left
	}
	return bytes
}

// usedBehind reports whether the scope reads the name outside of the loop, behind its beginning.
func (s *scope) usedBehind(t turn) bool {
	loop := t.loop.Place()
	for _, one := range s.body {
		used := false
		syntax.Walk(one, func(node syntax.Node) bool {
			if node == syntax.Node(t.loop) {
				if f, ok := node.(*syntax.For); ok {
					for _, e := range f.Else {
						used = used || reads(e, t.name)
					}
				}
				return false
			}
			if syntax.IsName(node, t.name) && node.Place().Start.Offset > loop.Start.Offset {
				used = true
			}
			return !used
		})
		if used {
			return true
		}
	}
	return false
}

// usedLater reports whether a later cell mentions a name, or a function of any cell does.
func (l *lives) usedLater(cell *notebook.Cell, name string) bool {
	for _, at := range l.words[name] {
		if l.steps[at].cell.Index > cell.Index {
			return true
		}
	}
	return len(l.readers[name]) > 0
}
