package advice

import (
	"ipytracer/internal/advice/notebook"
	"ipytracer/internal/syntax"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// loops finds loops in which the value of the last round still lives while the next value is computed. The advice is a
// del statement behind the last use of the round.
//
// The rule: a statement right in the body of a loop binds a name. Nothing in the body reads the name before that
// statement, nothing behind the loop and no function reads it, and no statement passes the value on. At a high moment
// two values live at once. With gradients on, a tensor from which other tensors are computed is no candidate: PyTorch's
// graph may hold it.
func loops(l *lives) (found []notebook.Candidate) {
	tried := 0
	for _, c := range l.n.Cells {
		if c.Tree == nil {
			continue
		}
		for _, scope := range scopesOf(c.Tree) {
			for _, bind := range scope.loopBinds() {
				if p := bind.body[bind.at].Place(); !l.hasMemory(c, p.Start.Line, p.End.Line) {
					continue
				}
				if tried++; tried > maxTried {
					return found
				}
				if candidate, ok := l.loop(c, scope, bind); ok {
					found = append(found, candidate)
				}
			}
		}
	}
	return found
}

// loopBind is a statement right in the body of a loop that binds one name.
type loopBind struct {
	loop syntax.Stmt
	body []syntax.Stmt
	at   int // index of the statement in body
	name string
}

// loopBinds returns the statements of the scope's loops that bind one name.
func (s *scope) loopBinds() (all []loopBind) {
	for _, stmt := range s.body {
		syntax.Walk(stmt, func(node syntax.Node) bool {
			switch n := node.(type) {
			case *syntax.FunctionDef, *syntax.ClassDef, *syntax.Lambda:
				return false
			case *syntax.For:
				all = append(all, bindsIn(n, n.Body)...)
			case *syntax.While:
				all = append(all, bindsIn(n, n.Body)...)
			}
			return true
		})
	}
	return all
}

// bindsIn returns the statements of a loop's body that bind one name. It leaves out statements on the loop's first
// line.
func bindsIn(loop syntax.Stmt, body []syntax.Stmt) (all []loopBind) {
	for i, stmt := range body {
		assign, ok := stmt.(*syntax.Assign)
		if !ok || len(assign.Targets) != 1 || assign.Place().Start.Line == loop.Place().Start.Line {
			continue
		}
		if name, ok := assign.Targets[0].(*syntax.Name); ok {
			all = append(all, loopBind{loop, body, i, name.ID})
		}
	}
	return all
}

// lastUse returns the index of the last statement of the body that reads the name. ok is false where the value escapes,
// where the name is read before the statement binds it, or where another statement binds it.
func (b *loopBind) lastUse() (last int, ok bool) {
	last = b.at
	for i, stmt := range b.body {
		m := mentions(stmt, b.name)
		switch {
		case m.escapes:
			return 0, false
		case i <= b.at && m.reads > 0, i != b.at && m.binds:
			return 0, false
		case m.reads > 0:
			last = i
		}
	}
	if w, isWhile := b.loop.(*syntax.While); isWhile && reads(w.Test, b.name) {
		return 0, false
	}
	return last, true
}

// loop returns the candidate for one name of a loop.
func (l *lives) loop(cell *notebook.Cell, s scope, b loopBind) (out notebook.Candidate, ok bool) {
	n := l.n
	last, ok := b.lastUse()
	if !ok || s.readsOutside(b) || s.function == nil && l.usedLater(cell, b.name) {
		return out, false
	}
	made := b.body[b.at].Place()
	ofValue := func(site *notebook.Site) bool {
		return site.On(cell, s.name(), made.Start.Line, made.End.Line) && !site.OfNetwork()
	}
	falls := func(m *notebook.Moment) int64 { return previousValue(m, ofValue) }
	if falls(n.Peak) == 0 && n.Saves(falls) == 0 {
		return out, false
	}
	if last > b.at && s.inGraph(n, cell, b.body[b.at]) ||
		b.body[last].Place().Start.Line == b.loop.Place().Start.Line {
		return out, false
	}
	edits, ok := spotIn(cell, b.body, last).Behind("del " + b.name)
	if !ok {
		return out, false
	}
	return notebook.Candidate{
		Kind: "loop", Cell: cell, Line: made.Start.Line, Names: []string{b.name}, Accuracy: model.SavesBound,
		Edits:   edits,
		Falls:   falls,
		Memory:  words.NameKey(cell.Window.ID, b.name),
		Title:   words.LoopHolds(b.name, falls(n.Peak), cell.Place(made.Start.Line)),
		Changes: []string{words.LoopGone(b.name)},
	}, true
}

// previousValue returns the bytes that the value of the previous round has at a moment, while the loop makes the next
// value; 0 if only one value lives then.
//
// In a cell, the last value outlives the loop: its size is what the loop leaves. In a function nothing is left. The
// size is then the remainder after as many values of mean size as fit into the live bytes: one value if all have the
// same size, and else less than a value.
func previousValue(moment *notebook.Moment, ofValue siteTest) (bytes int64) {
	for site, live := range moment.Live {
		count := moment.Count[site]
		if !ofValue(site) || site.Meter == "cpu.mapped" || count < 2 {
			continue
		}
		mean := moment.Made[site] / count
		tolerance := mean / 50
		if mean == 0 || live <= mean+tolerance {
			continue
		}
		if kept := moment.Kept[site]; kept > 0 {
			bytes += min(kept, live-kept)
			continue
		}
		remainder := live % mean
		if remainder <= tolerance || remainder >= mean-tolerance {
			remainder = mean
		}
		bytes += remainder
	}
	return bytes
}

// readsOutside reports whether the scope reads the name behind the beginning of the loop, but outside of the loop.
func (s *scope) readsOutside(b loopBind) bool {
	loop := b.loop.Place()
	for _, stmt := range s.body {
		used := false
		syntax.Walk(stmt, func(node syntax.Node) bool {
			if node == syntax.Node(b.loop) {
				if f, ok := node.(*syntax.For); ok {
					for _, e := range f.Else {
						used = used || reads(e, b.name)
					}
				}
				return false
			}
			if syntax.IsName(node, b.name) && node.Place().Start.Offset > loop.Start.Offset {
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

// usedLater reports whether a later cell mentions a name, or a function of any cell reads it.
func (l *lives) usedLater(cell *notebook.Cell, name string) bool {
	for _, at := range l.words[name] {
		if l.steps[at].cell.Index > cell.Index {
			return true
		}
	}
	return len(l.readers[name]) > 0
}
