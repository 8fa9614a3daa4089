package advice

import (
	"slices"

	"ipytracer/internal/advice/notebook"
	"ipytracer/internal/syntax"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// locals finds local names that hold memory between their last use and the function's return. The advice is a del
// statement behind the last use.
//
// The rule: exactly one statement right in a function's body binds the name. No statement passes the value on, returns
// it, or uses it in an inner function. Memory of that statement lives at the highest moment, and so does memory of a
// statement behind the last use: this shows that the function had passed the last use by then. With gradients on, a
// tensor from which other tensors are computed is no candidate: PyTorch's graph may hold it.
//
// The saving is a bound if the name is the only known holder and the memory is not in malloc's heap; else it is a
// guess. It supposes that, up to the last use, the function needs the memory that its statements had at the highest
// moment, and everything that the running statement allocates. Mapped memory without a known block is left out, because
// it may belong to any code.
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
			for at, stmt := range s.body {
				if p := stmt.Place(); !l.hasMemory(c, p.Start.Line, p.End.Line) {
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

// local returns the candidate for the name that statement at of a function's body binds.
func (l *lives) local(cell *notebook.Cell, s scope, at int) (out notebook.Candidate, ok bool) {
	n := l.n
	assign, isAssign := s.body[at].(*syntax.Assign)
	if !isAssign || len(assign.Targets) != 1 {
		return out, false
	}
	target, isName := assign.Targets[0].(*syntax.Name)
	if !isName || s.function.Name == target.ID {
		return out, false
	}
	name := target.ID
	last, ok := lastUse(s.body, at, name)
	if !ok || last+1 >= len(s.body) {
		return out, false
	}
	steps := stepsOf(n, cell, s, n.Peak)
	if steps.ofBlocks[at] == 0 || !steps.liveBehind(last) || last > at && s.inGraph(n, cell, assign) {
		return out, false
	}
	edits, ok := spotIn(cell, s.body, last).Behind("del " + name)
	if !ok {
		return out, false
	}
	end := s.body[last].Place().End.Line
	return notebook.Candidate{
		Kind: "local", Cell: cell, Line: end, Names: []string{name}, Edits: edits,
		Accuracy: l.localAccuracy(cell, s, assign, name),
		Falls:    func(m *notebook.Moment) int64 { return stepsOf(n, cell, s, m).falls(m, at, last) },
		Memory:   words.NameKey(cell.Window.ID, s.function.Name+"."+name),
		Title: words.LocalHolds(name, s.function.Name, steps.ofBlocks[at], cell.Place(assign.Start.Line),
			cell.Place(end)),
		Unknown: []string{words.LocalUnknown(name)},
	}, true
}

// localAccuracy returns the accuracy of the saving for a name of a function: a bound, or a guess.
func (l *lives) localAccuracy(cell *notebook.Cell, s scope, assign *syntax.Assign, name string) string {
	p := assign.Place()
	ofValue := func(site *notebook.Site) bool { return site.On(cell, s.name(), p.Start.Line, p.End.Line) }
	caller := l.n.Peak.Statement
	if !l.flow.OnlyLocal(s.function, assign, name) || caller == nil ||
		notebook.InHeap(l.n, caller, ofValue) || notebook.InHole(l.n, ofValue) {
		return model.SavesGuess
	}
	return model.SavesBound
}

// lastUse returns the index of the last statement of a body that reads the name that statement at binds. ok is false
// where the value escapes, where another statement binds the name, or where statement at reads it.
func lastUse(body []syntax.Stmt, at int, name string) (last int, ok bool) {
	last = at
	for i, stmt := range body {
		m := mentions(stmt, name)
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

// maxBody is the largest number of statements of a function that is judged.
const maxBody = 256

// bodySteps has the memory of each statement of a function's body, in bytes.
type bodySteps struct {
	live     []int64 // lived at the moment
	ofBlocks []int64 // the part of live that is not only known as mapped memory
	made     []int64 // allocated by the cell's statement in whose run the moment lies
}

// stepsOf returns the memory of a function's statements at a moment; all zero for a body that is too long.
func stepsOf(n *notebook.Notebook, cell *notebook.Cell, s scope, moment *notebook.Moment) bodySteps {
	steps := bodySteps{make([]int64, len(s.body)), make([]int64, len(s.body)), make([]int64, len(s.body))}
	if len(s.body) > maxBody {
		return steps
	}
	for i, stmt := range s.body {
		p := stmt.Place()
		onStmt := func(site *notebook.Site) bool { return site.On(cell, s.name(), p.Start.Line, p.End.Line) }
		isBlock := func(site *notebook.Site) bool { return site.Meter != "cpu.mapped" && onStmt(site) }
		steps.live[i], steps.ofBlocks[i] = n.Resident(moment, onStmt), n.Resident(moment, isBlock)
		for site, bytes := range moment.Made {
			if isBlock(site) {
				steps.made[i] += bytes
			}
		}
	}
	return steps
}

// liveBehind reports whether a statement behind statement last has memory.
func (b *bodySteps) liveBehind(last int) bool {
	return slices.ContainsFunc(b.live[last+1:], func(live int64) bool { return live > 0 })
}

// falls returns by how many bytes a moment would be lower if the memory of statement at were freed behind statement
// last. The fall cannot go below the highest value that the function may have reached up to last.
func (b bodySteps) falls(moment *notebook.Moment, at, last int) int64 {
	if b.ofBlocks[at] == 0 || !b.liveBehind(last) {
		return 0
	}
	before := moment.Peak // the value of the meter before statement i runs
	for _, live := range b.live {
		before -= live
	}
	highest := int64(0)
	for i := 0; i <= last; i++ {
		highest = max(highest, before+max(b.made[i], b.live[i]))
		before += b.live[i]
	}
	return max(0, min(b.ofBlocks[at], moment.Peak-highest))
}
