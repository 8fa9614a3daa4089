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
func boundBy(s *notebook.Statement) (all []string) {
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
	switch node := s.Node.(type) {
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
	return ok && hands(e.Value, name)
}

// delete returns the candidate for one name.
func (l *lives) delete(s *notebook.Statement, name string) (c notebook.Candidate, ok bool) {
	_, single := s.Node.(*syntax.Assign)
	of := func(site *notebook.Site) bool { return site.Statement == s && (single || !site.OfNetwork()) }
	peak := l.n.Peak
	if !peak.Behind(s) || peak.Bytes(of) == 0 {
		return c, false
	}
	life, ok := l.life(s, name)
	if !ok || !peak.Behind(life.last) || life.end < peak.Order {
		return c, false
	}
	share, accuracy := l.share(s, name, life)
	if accuracy == "" {
		return c, false
	}
	edits, ok := l.n.Insert(life.last, "del "+name)
	if !ok {
		return c, false
	}
	c = notebook.Candidate{
		Kind: "delete", Cell: life.last.Cell, Line: life.last.End(), Names: []string{name}, Accuracy: accuracy,
		Edits: edits, Of: words.NameKey(s.Window.ID, name),
		Falls: func(m *notebook.Moment) int64 {
			if !m.Behind(life.last) || !life.at(m) {
				return 0
			}
			return min(share, l.n.Resident(m, of))
		},
		Title: words.NameHolds(name, peakBytes(l.n, of, share), notebook.PlaceOf(s, s.Line),
			notebook.PlaceOf(life.last, life.last.End()),
			life.last == s),
		Changes: []string{words.NameGone(name)},
	}
	l.doubt(&c, s, life)
	return c, true
}

// doubt adds to a candidate what else may keep the memory of its name.
func (l *lives) doubt(c *notebook.Candidate, s *notebook.Statement, life lifetime) {
	name, of := c.Names[0], func(site *notebook.Site) bool { return site.Statement == s }
	switch {
	case notebook.InHeap(l.n, s, of):
		c.Unknown = append(c.Unknown, words.HeapMayKeep(name))
	case notebook.MovesOthers(l.n, life.last, of):
		c.Unknown, c.Accuracy = append(c.Unknown, words.HeapMayKeep(name)), model.SavesGuess
	}
	if l.inGraph(s, life) {
		c.Unknown = append(c.Unknown, words.GraphMayHold(name))
	}
	c.Unknown = append(c.Unknown, l.unsure(s, name, life)...)
	if len(l.blind) > 0 && slices.Max(l.blind) > life.last.Order {
		c.Unknown = append(c.Unknown, words.UnknownUses(name))
		c.Accuracy = worse(c.Accuracy)
	}
}

// worse returns the accuracy of a candidate that something unseen may be in the way of.
func worse(accuracy string) string {
	if accuracy == model.SavesExact {
		return model.SavesBound
	}
	return model.SavesGuess
}

func peakBytes(n *notebook.Notebook, of func(*notebook.Site) bool, share int64) int64 {
	return min(share, n.Peak.Bytes(of))
}

// share returns the most bytes of a statement's memory that go with a name, and how well that is known; "" if they do
// not go.
func (l *lives) share(s *notebook.Statement, name string, life lifetime) (bytes int64, accuracy string) {
	of := func(site *notebook.Site) bool { return site.Statement == s }
	if notebook.InHole(l.n, of) {
		return 0, ""
	}
	bytes, accuracy = l.alone(s, name, life)
	if accuracy != "" && notebook.InHeap(l.n, s, of) {
		if min(bytes, l.n.Peak.Bytes(of)) < notebook.HeapMost { // the heap may well keep all of it
			return 0, ""
		}
		accuracy = model.SavesGuess
	}
	if accuracy != "" && l.inGraph(s, life) {
		accuracy = model.SavesGuess
	}
	return bytes, accuracy
}

// inGraph reports whether PyTorch's graph may hold the tensors of a statement: at the highest moment there are tensors
// that were made of them, and nobody recorded what a graph holds.
func (l *lives) inGraph(s *notebook.Statement, life lifetime) bool {
	tensors, made := false, false
	for site := range l.n.Peak.Live {
		if site.OfTensors() {
			tensors = tensors || site.Statement == s
			made = made || site.Statement != s && slices.Contains(life.readers, site.Statement)
		}
	}
	return tensors && made
}

// unsure returns sentences about what else may hold the memory of a name.
func (l *lives) unsure(s *notebook.Statement, name string, life lifetime) []string {
	if bytes, alone := l.atEnd(s, name, life); bytes == 0 || alone != model.SavesExact {
		return []string{words.HoldersUnknown(name)}
	}
	if trail := l.handed.Follow(name, s, l.n.Peak); !trail.Shown(l.n.Peak) {
		at := trail.Last()
		return []string{words.MayHold(name, notebook.PlaceOf(at, at.Line))}
	}
	return nil
}

// alone returns the same by who else may hold the memory at the highest moment. What the end shows holds for that
// moment, too, unless something may have let go of the memory in between.
func (l *lives) alone(s *notebook.Statement, name string, life lifetime) (bytes int64, accuracy string) {
	if bytes, accuracy = l.atEnd(s, name, life); accuracy == "" {
		return 0, ""
	}
	trail := l.handed.Follow(name, s, l.n.Peak)
	shown := accuracy != model.SavesGuess && trail.Shown(l.n.Peak)
	switch {
	case shown:
		return bytes, accuracy
	case trail.Held(l.n.Peak) != "":
		return 0, ""
	}
	return bytes, model.SavesGuess
}

// atEnd returns the same by who holds the memory at the session's end.
func (l *lives) atEnd(s *notebook.Statement, name string, life lifetime) (bytes int64, accuracy string) {
	kept := int64(1 << 62)
	_, assigns := s.Node.(*syntax.Assign)
	alone := assigns && len(boundBy(s)) == 1 // a loop may have put its memory anywhere

	// No more goes than the name has at the end, whatever the statement made.
	if v := l.n.Variable(name); v != nil && life.end == 1<<62 {
		switch {
		case v.Bytes == 0 && v.Device == 0 || len(v.Also) > 0: // Out[3] or another name has it, too
			return 0, ""
		case v.Exact && v.Execution == s.Cell.Window.Execution && v.Line >= s.Line && v.Line <= s.End():
			return v.Bytes + v.Device, model.SavesExact
		}
		return v.Bytes + v.Device, model.SavesBound
	}
	if !alone || life.aliased {
		return 0, ""
	}
	return kept, model.SavesGuess
}
