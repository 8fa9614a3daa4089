package advice

import (
	"slices"

	"ipytracer/internal/advice/notebook"
	"ipytracer/internal/syntax"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// deletes finds names that are used for the last time before the highest moment, and hold memory then.
//
// The rule: a statement binds one name, and memory that it allocated lives at the highest moment. No later statement
// reads the name, up to where it is bound anew; while an assignment makes the new value, the old one lives. Functions
// that read it count with each statement that mentions them.
// The memory goes with the name if the name still has it alone at the session's end; if the name is gone by then, no
// statement may have handed it on.
func deletes(l *lives) []notebook.Candidate { return l.each(l.delete) }

// each tries the names of the statements with memory at the highest moment.
func (l *lives) each(try func(*notebook.Statement, string) (notebook.Candidate, bool)) (found []notebook.Candidate) {
	tried := 0
	for _, s := range l.n.Statements {
		if l.peak[s] < l.n.Least() {
			continue
		}
		for _, name := range boundBy(s) {
			if tried++; tried > maxTried {
				return found
			}
			if c, ok := try(s, name); ok {
				found = append(found, c)
			}
		}
	}
	return found
}

// boundBy returns the names that a statement binds to a value.
func boundBy(statement *notebook.Statement) (all []string) {
	add := func(target syntax.Expr) {
		switch t := target.(type) {
		case *syntax.Name:
			all = append(all, t.ID)
		case *syntax.Tuple:
			for _, e := range t.Elts {
				if name, ok := e.(*syntax.Name); ok {
					all = append(all, name.ID)
				}
			}
		}
	}
	switch node := statement.Node.(type) {
	case *syntax.Assign:
		for _, t := range node.Targets {
			add(t)
		}
	case *syntax.AnnAssign:
		add(node.Target)
	case *syntax.For:
		add(node.Target)
		bodies(node.Body, add)
	case *syntax.With:
		bodies(node.Body, add)
	case *syntax.If:
		bodies(node.Body, add)
	case *syntax.Magic:
		if node.Name() != "timeit" { // whose names are its own
			bodies(node.Body, add)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// bodies calls add for the targets of assignments in a body.
func bodies(body []syntax.Stmt, add func(syntax.Expr)) {
	for _, one := range body {
		if a, ok := one.(*syntax.Assign); ok {
			for _, t := range a.Targets {
				add(t)
			}
		}
	}
}

// lifetime is the life of a value under a name.
type lifetime struct {
	made, last *notebook.Statement   // last reads it, or else is made
	readers    []*notebook.Statement // those that ask for more than its shape
	end        int                   // order of the statement that ends it
	replaced   bool                  // by the value of an assignment: it lives until that is there
	aliased    bool
}

// at reports whether the value lives at a moment that is behind its last use.
func (x lifetime) at(m *notebook.Moment) bool {
	return m.Order < x.end || m.Order == x.end && x.replaced && m.Statement != nil
}

// life returns the life of the value that a statement gave a name. ok is false where a statement that did not run reads
// the name.
func (l *lives) life(made *notebook.Statement, name string) (x lifetime, ok bool) {
	x = lifetime{made: made, last: made, end: 1 << 62}
	for _, at := range l.about(name) {
		s := l.steps[at]
		if s.order < made.Order || s.node == made.Node ||
			s.order == made.Order && s.node.Place().Start.Offset < made.Node.Place().Start.Offset {
			continue
		}
		u := l.of(s, name)
		x.aliased = x.aliased || u.escapes || shows(s.node, name)
		switch {
		case u.reads && s.ran == nil:
			return x, false
		case u.reads && u.shape:
			x.last = s.ran
		case u.reads:
			x.last, x.readers = s.ran, append(x.readers, s.ran)
		}
		if u.binds {
			x.end = s.order
			_, x.replaced = s.node.(*syntax.Assign)
			return x, true
		}
	}
	return x, true
}

// shows reports whether a statement may show the value of a name, which Out[] then holds.
func shows(node syntax.Stmt, name string) bool {
	e, ok := node.(*syntax.ExprStmt)
	return ok && mayHold(e.Value, name)
}

// delete returns the candidate for one name.
func (l *lives) delete(made *notebook.Statement, name string) (found notebook.Candidate, ok bool) {
	_, single := made.Node.(*syntax.Assign)
	of := func(site *notebook.Site) bool { return site.Statement == made && (single || !site.OfNetwork()) }
	peak := l.n.Peak
	if !peak.Behind(made) || peak.Bytes(of) == 0 {
		return found, false
	}
	life, ok := l.life(made, name)
	if !ok || !peak.Behind(life.last) || life.end < peak.Order {
		return found, false
	}
	found = notebook.Candidate{Kind: "delete", Cell: life.last.Cell, Line: life.last.End(), Names: []string{name},
		Of: words.NameKey(made.Window.ID, name), Changes: []string{words.NameGone(name)}}
	share := l.share(&found, life)
	if share == 0 {
		return found, false
	}
	found.Title = words.NameHolds(name, min(share, peak.Bytes(of)), made.Cell.Place(made.Line),
		life.last.Cell.Place(life.last.End()), life.last == made)
	found.Falls = func(moment *notebook.Moment) int64 {
		if !moment.Behind(life.last) || !life.at(moment) {
			return 0
		}
		return min(share, l.n.Resident(moment, of))
	}
	found.Edits, ok = l.n.Insert(life.last, "del "+name)
	return found, ok
}

// share returns the most bytes that go with the name of a candidate, 0 for none. It says in the candidate how well that
// is known, and what else may keep the memory at the highest moment. What the end shows holds for that moment, too,
// unless something may have let go of the memory in between.
func (l *lives) share(found *notebook.Candidate, life lifetime) int64 {
	name, peak := found.Names[0], l.n.Peak
	of := func(site *notebook.Site) bool { return site.Statement == life.made }
	bytes, atEnd := l.atEnd(name, life)
	if atEnd == "" || notebook.InHole(l.n, of) {
		return 0
	}
	found.Accuracy = atEnd
	doubt := func(sentence, accuracy string) {
		found.Unknown, found.Accuracy = append(found.Unknown, sentence), accuracy
	}
	trail := l.handed.Follow(name, life.made, peak)
	shown := atEnd != model.SavesGuess && trail.Shown(peak)
	if !shown {
		if trail.Held(peak) != "" {
			return 0
		}
		found.Accuracy = model.SavesGuess
	}
	switch {
	case notebook.InHeap(l.n, life.made, of):
		if min(bytes, peak.Bytes(of)) < notebook.HeapMost { // the heap may well keep all of it
			return 0
		}
		doubt(words.HeapMayKeep(name), model.SavesGuess)
	case notebook.MovesOthers(l.n, life.last, of):
		doubt(words.HeapMayKeep(name), model.SavesGuess)
	}
	if l.inGraph(life) {
		doubt(words.GraphMayHold(name), model.SavesGuess)
	}
	if last := trail.Last(); atEnd != model.SavesExact {
		doubt(words.HoldersUnknown(name), found.Accuracy)
	} else if !shown {
		doubt(words.MayHold(name, last.Cell.Place(last.Line)), found.Accuracy)
	}
	if len(l.blind) > 0 && slices.Max(l.blind) > life.last.Order {
		if found.Accuracy == model.SavesExact {
			doubt(words.UnknownUses(name), model.SavesBound)
		} else {
			doubt(words.UnknownUses(name), model.SavesGuess)
		}
	}
	return bytes
}

// inGraph reports whether PyTorch's graph may hold the tensors of a name: at the highest moment there are tensors
// that were made of them, and nobody recorded what a graph holds.
func (l *lives) inGraph(life lifetime) bool {
	tensors, made := false, false
	for site := range l.n.Peak.Live {
		if site.OfTensors() {
			tensors = tensors || site.Statement == life.made
			made = made || site.Statement != life.made && slices.Contains(life.readers, site.Statement)
		}
	}
	return tensors && made
}

// atEnd returns the most bytes that go with a name, by who holds the memory at the session's end, and how well that is
// known; "" if they do not go.
func (l *lives) atEnd(name string, life lifetime) (bytes int64, accuracy string) {
	// No more goes than the name has at the end, whatever the statement made.
	if variable := l.n.Variable(name); variable != nil && life.end == 1<<62 {
		bytes = variable.Bytes + variable.Device
		switch {
		case bytes == 0 || len(variable.Also) > 0: // Out[3] has it, or a name
			return 0, ""
		case variable.Exact && variable.Execution == life.made.Cell.Window.Execution &&
			variable.Line >= life.made.Line && variable.Line <= life.made.End():
			return bytes, model.SavesExact
		}
		return bytes, model.SavesBound
	}
	_, assigns := life.made.Node.(*syntax.Assign)
	if !assigns || len(boundBy(life.made)) != 1 || life.aliased { // a loop may have put its memory anywhere
		return 0, ""
	}
	return 1 << 62, model.SavesGuess
}
