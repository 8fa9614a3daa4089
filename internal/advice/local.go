package advice

import (
	"ipytracer/internal/advice/notebook"
	"ipytracer/internal/syntax"
	"ipytracer/internal/words"
	"ipytracer/model"
	"slices"
)

// locals finds names of a function that hold memory behind their last use, up to its return.
//
// The rule: a statement right in a function's body binds a name, once, and no statement hands its value on, returns it
// or has it in a function of its own. Memory of that statement lives at the highest moment, and so does memory of a
// statement behind the last one that reads the name: so the function was there by then. Of tensors that others are made
// of there is none, unless the function's gradients are off: PyTorch's graph may hold them.
//
// The saving is a bound where nothing but the name is known to hold the value, and its memory does not lie in malloc's
// heap: up to the last use the function is taken to need the memory that its statements had at the highest moment, and
// all that the statement that runs has made. Memory that is only known to have been mapped is not counted: it may be
// anything's.
func locals(l *lives) (found []notebook.Candidate) {
	tried := 0
	for _, c := range l.n.Cells {
		if c.Tree == nil {
			continue
		}
		for _, s := range scopesOf(c.Tree) {
			if s.function == nil || syntax.Generates(s.function) {
				continue
			}
			for at, one := range s.body {
				if p := one.Place(); !l.alive(c, p.Start.Line, p.End.Line) {
					continue
				}
				if tried++; tried > maxTried {
					return found
				}
				if candidate, ok := l.local(c, s, at); ok {
					found = append(found, candidate)
				}
			}
		}
	}
	return found
}

// local returns the candidate for a statement of a function's body.
func (l *lives) local(cell *notebook.Cell, s scope, at int) (out notebook.Candidate, ok bool) {
	n := l.n
	assign, isAssign := s.body[at].(*syntax.Assign)
	if !isAssign || len(assign.Targets) != 1 {
		return out, false
	}
	target, isOne := assign.Targets[0].(*syntax.Name)
	if !isOne || s.function.Name == target.ID {
		return out, false
	}
	name := target.ID
	last, ok := lastIn(s.body, at, name)
	if !ok || last+1 >= len(s.body) {
		return out, false
	}
	steps := stepsOf(n, cell, s, n.Peak)
	if steps.own[at] == 0 || !steps.behind(last) || last > at && s.inGraph(n, cell, assign) {
		return out, false
	}
	edits, ok := spotIn(cell, s.body, last).Behind("del " + name)
	if !ok {
		return out, false
	}
	end := s.body[last].Place().End.Line
	return notebook.Candidate{
		Kind: "local", Cell: cell, Line: end, Names: []string{name}, Accuracy: l.sureOf(cell, s, assign), Edits: edits,
		Falls:   func(m *notebook.Moment) int64 { return stepsOf(n, cell, s, m).falls(m, at, last) },
		Of:      words.NameKey(cell.Window.ID, s.function.Name+"."+name),
		Title:   words.LocalHolds(name, s.function.Name, steps.own[at], cell.Place(assign.Start.Line), cell.Place(end)),
		Unknown: []string{words.LocalUnknown(name)},
	}, true
}

// sureOf returns how well the saving is known for a name of a function.
func (l *lives) sureOf(cell *notebook.Cell, s scope, assign *syntax.Assign) string {
	p := assign.Place()
	of := func(site *notebook.Site) bool { return site.On(cell, s.name(), p.Start.Line, p.End.Line) }
	caller := l.n.Peak.Statement
	if !l.handed.OnlyLocal(s.function, assign, assign.Targets[0].(*syntax.Name).ID) || caller == nil ||
		notebook.InHeap(l.n, caller, of) || notebook.InHole(l.n, of) {
		return model.SavesGuess
	}
	return model.SavesBound
}

// lastIn returns the index of the last statement of a body that reads a name; ok is false where the value is handed on
// or bound anew.
func lastIn(body []syntax.Stmt, at int, name string) (last int, ok bool) {
	last = at
	for i, one := range body {
		m := mentions(one, name)
		if m.escapes || m.binds && i != at {
			return 0, false
		}
		if m.reads > 0 && i >= at {
			last = i
		}
		if m.reads > 0 && i == at {
			return 0, false
		}
	}
	return last, true
}

// maxBody is the most statements of a function that is looked at.
const maxBody = 256

// bodySteps is the memory of each statement of a function's body: what lived at a moment, the part of it that is not
// only known to have been mapped, and what one turn made.
type bodySteps struct{ live, own, made []int64 }

func stepsOf(n *notebook.Notebook, cell *notebook.Cell, s scope, moment *notebook.Moment) bodySteps {
	all := bodySteps{make([]int64, len(s.body)), make([]int64, len(s.body)), make([]int64, len(s.body))}
	if len(s.body) > maxBody {
		return all
	}
	for i, one := range s.body {
		p := one.Place()
		of := func(site *notebook.Site) bool { return site.On(cell, s.name(), p.Start.Line, p.End.Line) }
		own := func(site *notebook.Site) bool { return site.Meter != "cpu.mapped" && of(site) }
		all.live[i], all.own[i] = n.Resident(moment, of), n.Resident(moment, own)
		for site, bytes := range moment.Made {
			if own(site) {
				all.made[i] += bytes
			}
		}
	}
	return all
}

// behind reports whether statements behind one have memory.
func (all *bodySteps) behind(last int) bool {
	return slices.ContainsFunc(all.live[last+1:], func(live int64) bool { return live > 0 })
}

// falls returns by how many bytes a moment would be lower without the memory of one statement behind the last use.
func (all bodySteps) falls(moment *notebook.Moment, at, last int) int64 {
	if all.own[at] == 0 || !all.behind(last) {
		return 0
	}
	rest := moment.Peak
	for _, live := range all.live {
		rest -= live
	}
	// the highest that it can have been up to the last use
	before, stood := int64(0), rest
	for i := 0; i <= last; i++ {
		before = max(before, stood+max(all.made[i], all.live[i]))
		stood += all.live[i]
	}
	return max(0, min(all.own[at], moment.Peak-before))
}
