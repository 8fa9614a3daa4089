package arrays

import (
	"ipytracer/internal/advice/notebook"
	"ipytracer/internal/syntax"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// views finds small parts of arrays that keep the whole array.
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

func (s *finder) view(variable *model.Variable) (c notebook.Candidate, ok bool) {
	all := s.binds[variable.Name]
	if len(all) == 0 || s.shared[variable.Name] {
		return c, false
	}
	b := all[len(all)-1]
	part, ok := b.value.(*syntax.Subscript)
	if !ok || !isAssigned(b) {
		return c, false
	}
	freed, ok := s.gone(part, b, variable.Name)
	if !ok {
		return c, false
	}
	base := s.baseOf(variable)
	if base == nil {
		return c, false
	}
	c = notebook.Candidate{Kind: View, Cell: b.s.Cell, Line: part.Start.Line, Names: []string{variable.Name},
		Accuracy: model.SavesExact, Of: b.s.Source()}
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

// baseOf returns the site of the array that a variable is a small part of; nil if it is not known.
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
// although nothing does at the end; nil if there is none.
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

// gone returns the order from which nothing but views holds the array that a part was cut from.
func (s *finder) gone(part *syntax.Subscript, b bind, name string) (order int, ok bool) {
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
