package advice

import (
	"ipytracer/internal/advice/notebook"
	"ipytracer/internal/syntax"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// views finds small views of arrays that keep the whole array alive.
func (s *finder) views() (found []notebook.Candidate) {
	for i := range s.n.Variables {
		variable := &s.n.Variables[i]
		if variable.Kind != "variable" || !isArray(variable) || variable.BaseBytes < 2*least ||
			variable.ViewBytes > variable.BaseBytes/2 {
			continue
		}
		if c, ok := s.view(variable); ok {
			found = append(found, c)
		}
	}
	return found
}

// view returns the candidate to copy the part of an array to which a name is bound.
func (s *finder) view(variable *model.Variable) (c notebook.Candidate, ok bool) {
	binds := s.binds[variable.Name]
	if len(binds) == 0 || s.global[variable.Name] {
		return c, false
	}
	b := binds[len(binds)-1]
	part, ok := b.value.(*syntax.Subscript)
	if !ok || !isAssigned(b) {
		return c, false
	}
	freed, ok := s.wholeFreedAt(part, b, variable.Name)
	if !ok {
		return c, false
	}
	base := s.baseOf(variable)
	if base == nil {
		return c, false
	}
	c = notebook.Candidate{Kind: View, Cell: b.s.Cell, Line: part.Start.Line, Names: []string{variable.Name},
		Accuracy: model.SavesExact, Memory: b.s.Source()}
	c.Falls = func(moment *notebook.Moment) int64 {
		if moment.Order > freed && moment.Live[base] >= variable.BaseBytes {
			return variable.BaseBytes - variable.ViewBytes
		}
		return 0
	}
	c.Edits = notebook.Replace(b.s.Cell, part, b.s.Cell.Text(part)+".copy()")
	c.Title = words.ViewOfLarge(variable.Name, variable.ViewBytes, variable.BaseBytes)
	c.Changes = []string{words.ViewChanges(variable.Name)}
	if at := s.mayBeHeld(part, b, variable.Name); at != nil {
		c.Accuracy = model.SavesGuess
		c.Unknown = append(c.Unknown, words.MayHold(variable.Name, at.Cell.Place(at.Line)))
	}
	return c, c.Edits != nil
}

// baseOf returns the site of the array of which a variable is a view; nil if it is not known.
func (s *finder) baseOf(variable *model.Variable) (base *notebook.Site) {
	for site, live := range s.n.Peak.Live {
		switch {
		case site.Meter != numpyMeter || live < variable.BaseBytes || site.Cell == nil || variable.Execution == 0:
		case site.Cell.Window.Execution != variable.Execution || site.Line != variable.Line:
		case base == nil || live < s.n.Peak.Live[base]:
			base = site
		}
	}
	return base
}

// mayBeHeld returns a statement by which something other than the part may hold the whole array at the highest moment,
// although nothing does at the session's end; nil if there is none.
func (s *finder) mayBeHeld(part *syntax.Subscript, b bind, name string) *notebook.Statement {
	whole, made := name, b.s
	if root := syntax.Root(part); root != "" && !syntax.Any(part.Value, func(*syntax.Call) bool { return true }) {
		whole = root
		for _, other := range s.binds[root] {
			if other.order < b.order || other.order == b.order && other.at < b.at {
				made = other.s
			}
		}
	}
	trail := notebook.NewFlow(s.n).Follow(whole, made, s.n.Peak)
	if trail.Shown(s.n.Peak) {
		return nil
	}
	last := trail.Last()
	for i := range trail.Ways {
		if trail.Ways[i].At != b.s {
			last = trail.Ways[i].At
		}
	}
	return last
}

// wholeFreedAt returns the order of the statement from which on nothing but views holds the array of which part is a
// part: the name of the array is bound anew. ok is false if no statement does so.
func (s *finder) wholeFreedAt(part *syntax.Subscript, b bind, name string) (order int, ok bool) {
	root := part.Value
	for {
		switch x := root.(type) {
		case *syntax.Subscript:
			root = x.Value
		case *syntax.Attribute:
			root = x.Value
		case *syntax.Call:
			return b.order, true
		case *syntax.Name:
			if x.ID == name {
				return b.order, true
			}
			for _, other := range s.binds[x.ID] {
				if other.order > b.order || other.order == b.order && other.at > b.at {
					return other.order, true
				}
			}
			return 0, false
		default:
			return 0, false
		}
	}
}

// arrays returns the candidates of all rules about arrays.
func arrays(book *notebook.Notebook) (found []notebook.Candidate) {
	if book.Peak == nil {
		return nil
	}
	s := &finder{&values{scene: newScene(book)}, places(book, book.Peak)}
	for _, rule := range []func() []notebook.Candidate{s.temporaries, s.views, dtypeRule{s}.dtypes} {
		found = append(found, rule()...)
	}
	if s.steps > maxSteps { // nodes that were not visited could disprove a candidate
		return nil
	}
	return found
}
