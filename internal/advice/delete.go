package advice

import (
	"math"
	"slices"

	"ipytracer/internal/advice/notebook"
	"ipytracer/internal/syntax"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// deletes finds names that the notebook no longer uses at the highest moment, but that still hold memory then. The
// advice is a del statement behind the last use.
//
// The rule: a statement binds a name, and memory that the statement allocated lives at the highest moment. Between the
// last read of the name and the highest moment, no statement binds the name anew. (While an assignment computes the new
// value, the old value still lives.) A statement that mentions a function that reads the name counts as a read.
//
// del frees the memory if, at the session's end, the name is the only holder of the memory. If the name is gone by
// then, no statement may have passed the value to another holder.
func deletes(l *lives) []notebook.Candidate { return l.eachBound(l.delete) }

// eachBound calls try for each name that a statement with memory at the highest moment binds, for at most maxTried
// names.
func (l *lives) eachBound(try func(*notebook.Statement, string) (notebook.Candidate, bool)) (
	found []notebook.Candidate) {
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

// boundBy returns the names that a statement binds to a value, sorted.
func boundBy(statement *notebook.Statement) (names []string) {
	add := func(target syntax.Expr) {
		switch t := target.(type) {
		case *syntax.Name:
			names = append(names, t.ID)
		case *syntax.Tuple:
			for _, e := range t.Elts {
				if name, ok := e.(*syntax.Name); ok {
					names = append(names, name.ID)
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
		eachTarget(node.Body, add)
	case *syntax.With:
		eachTarget(node.Body, add)
	case *syntax.If:
		eachTarget(node.Body, add)
	case *syntax.Magic:
		if node.Name() != "timeit" { // %timeit runs its code in a function: the names are local
			eachTarget(node.Body, add)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// eachTarget calls visit for each target of the assignments right in a body.
func eachTarget(body []syntax.Stmt, visit func(syntax.Expr)) {
	for _, stmt := range body {
		if a, ok := stmt.(*syntax.Assign); ok {
			for _, t := range a.Targets {
				visit(t)
			}
		}
	}
}

// lifetime is the time in which a name has one value.
type lifetime struct {
	made     *notebook.Statement   // binds the name to the value
	last     *notebook.Statement   // the last statement that reads the value; made if none does
	readers  []*notebook.Statement // statements that read more of the value than its shape
	end      int                   // order of the statement that binds the name anew; never if none does
	replaced bool                  // the statement at end is an assignment: the value lives while it computes the next
	aliased  bool                  // another name or object may have the value, too
}

// never is the end of a lifetime that lasts to the session's end.
const never = 1 << 62

// livesAt reports whether the value still lives at a moment behind its last use.
func (x lifetime) livesAt(m *notebook.Moment) bool {
	return m.Order < x.end || m.Order == x.end && x.replaced && m.Statement != nil
}

// life returns the lifetime of the value to which made binds a name. ok is false where a statement that did not run
// reads the name.
func (l *lives) life(made *notebook.Statement, name string) (x lifetime, ok bool) {
	x = lifetime{made: made, last: made, end: never}
	for _, at := range l.stepsAbout(name) {
		s := l.steps[at]
		if s.order < made.Order || s.node == made.Node ||
			s.order == made.Order && s.node.Place().Start.Offset < made.Node.Place().Start.Offset {
			continue
		}
		u := l.useOf(s, name)
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

// shows reports whether a statement may show the value of a name: IPython's Out then holds the value.
func shows(node syntax.Stmt, name string) bool {
	e, ok := node.(*syntax.ExprStmt)
	return ok && mayHold(e.Value, name)
}

// delete returns the candidate to delete a name that the statement made binds.
func (l *lives) delete(made *notebook.Statement, name string) (found notebook.Candidate, ok bool) {
	_, isAssign := made.Node.(*syntax.Assign)
	ofValue := func(site *notebook.Site) bool { return site.Statement == made && (isAssign || !site.OfNetwork()) }
	peak := l.n.Peak
	if !peak.Behind(made) || peak.Bytes(ofValue) == 0 {
		return found, false
	}
	life, ok := l.life(made, name)
	if !ok || !peak.Behind(life.last) || life.end < peak.Order {
		return found, false
	}
	found = notebook.Candidate{Kind: "delete", Cell: life.last.Cell, Line: life.last.End(), Names: []string{name},
		Memory: words.NameKey(made.Window.ID, name), Changes: []string{words.NameGone(name)}}
	freed := l.freedBy(&found, life)
	if freed == 0 {
		return found, false
	}
	found.Title = words.NameHolds(name, min(freed, peak.Bytes(ofValue)), made.Cell.Place(made.Line),
		life.last.Cell.Place(life.last.End()), life.last == made)
	found.Falls = func(moment *notebook.Moment) int64 {
		if !moment.Behind(life.last) || !life.livesAt(moment) {
			return 0
		}
		return min(freed, l.n.Resident(moment, ofValue))
	}
	found.Edits, ok = l.n.Insert(life.last, "del "+name)
	return found, ok
}

// freedBy returns the most bytes that deleting the candidate's name frees; 0 if it frees none. It sets the candidate's
// Accuracy, and adds to Unknown what else may keep the memory at the highest moment.
//
// The holders of memory are known at the session's end only. They were the same at the highest moment, unless a
// statement in between may have made a holder let go.
func (l *lives) freedBy(found *notebook.Candidate, life lifetime) int64 {
	name, peak := found.Names[0], l.n.Peak
	ofValue := func(site *notebook.Site) bool { return site.Statement == life.made }
	bytes, atEnd := l.atEnd(name, life)
	if atEnd == "" || notebook.InHole(l.n, ofValue) {
		return 0
	}
	found.Accuracy = atEnd
	doubt := func(sentence, accuracy string) {
		found.Unknown, found.Accuracy = append(found.Unknown, sentence), accuracy
	}
	trail := l.flow.Follow(name, life.made, peak)
	shown := atEnd != model.SavesGuess && trail.Shown(peak)
	if !shown {
		if trail.Held(peak) != "" {
			return 0
		}
		found.Accuracy = model.SavesGuess
	}
	switch {
	case notebook.InHeap(l.n, life.made, ofValue):
		if min(bytes, peak.Bytes(ofValue)) < notebook.HeapMost { // malloc's heap may keep all of the memory
			return 0
		}
		doubt(words.HeapMayKeep(name), model.SavesGuess)
	case notebook.MovesOthers(l.n, life.last, ofValue):
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

// inGraph reports whether PyTorch's graph may hold the tensors of a name: the highest moment has tensors of the name,
// and tensors that a reader of the name made. A session does not record what a graph holds.
func (l *lives) inGraph(life lifetime) bool {
	hasTensors, hasResults := false, false
	for site := range l.n.Peak.Live {
		if site.OfTensors() {
			hasTensors = hasTensors || site.Statement == life.made
			hasResults = hasResults || site.Statement != life.made && slices.Contains(life.readers, site.Statement)
		}
	}
	return hasTensors && hasResults
}

// atEnd returns the most bytes that deleting a name frees, judged by the holders at the session's end, and the accuracy
// of that figure. The accuracy is "" if the memory would stay.
func (l *lives) atEnd(name string, life lifetime) (bytes int64, accuracy string) {
	// The name's memory at the end is the upper limit, even if the statement allocated more.
	if variable := l.n.Variable(name); variable != nil && life.end == never {
		bytes = variable.Bytes + variable.Device
		switch {
		case bytes == 0 || len(variable.Also) > 0: // Out[N] or another name has the value, too
			return 0, ""
		case variable.Exact && variable.Execution == life.made.Cell.Window.Execution &&
			variable.Line >= life.made.Line && variable.Line <= life.made.End():
			return bytes, model.SavesExact
		}
		return bytes, model.SavesBound
	}
	_, assigns := life.made.Node.(*syntax.Assign)
	if !assigns || len(boundBy(life.made)) != 1 || life.aliased { // another object may hold the memory
		return 0, ""
	}
	return math.MaxInt64, model.SavesGuess
}
