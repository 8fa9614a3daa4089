package arrays

import (
	"strings"

	"ipytracer/attribution/advice/evidence"
	"ipytracer/attribution/syntax"
	"ipytracer/model/words"
)

// onePass are functions that go over all of their argument once, and keep none of its items but the result. Not any and
// all: they stop early, and the items behind would not be made.
var onePass = set("sum", "max", "min")

// generators finds lists of arrays that are made for one pass over them.
func (s *finder) generators() (found []evidence.Candidate) {
	m := s.n.Peak
	if m.Statement == nil || m.Statement.Node == nil {
		return nil
	}
	if c, ok := s.generator(&place{cell: m.Cell, node: m.Statement.Node, running: m.Statement, moment: m}); ok {
		found = append(found, c)
	}
	return found
}

// listed returns the size of a list's items, and by how much the peak falls if they do not live at the same time. What
// lives then is the sum, an item and the next sum, or the sum and the arrays that one item needs while it is made: no
// more than all that were made for it.
func (s *finder) listed(p *place, list *syntax.Comp) (items, saves int64) {
	var part, made, live, inside int64
	for site, bytes := range p.moment.Made {
		n := p.moment.Count[site]
		if site.Meter != numpyMeter || n == 0 {
			continue
		}
		live += p.moment.Live[site]
		if inComprehension(site, p.cell, list) {
			made += bytes
			inside += p.moment.Live[site]
			part = max(part, bytes/n)
		}
	}
	if part == 0 || inside/part < 4 {
		return 0, 0
	}
	needs := max(3*part, made/(inside/part))
	return inside, min(live-needs, p.moment.Peak-p.moment.Start)
}

func (s *finder) generator(p *place) (c evidence.Candidate, ok bool) {
	name := ""
	var list *syntax.Comp
	call := s.only(p.node, func(x *syntax.Call) bool {
		function, builtin := strings.CutPrefix(s.full(x.Func), "builtins.")
		if !builtin || !onePass[function] || len(x.Args) == 0 || len(x.Keywords) > 0 {
			return false
		}
		inner, ok := x.Args[0].(*syntax.Comp)
		if !ok || inner.Kind != "list" || inner.Generators[0].Async {
			return false
		}
		name, list = function, inner
		return true
	})
	if call == nil {
		return c, false
	}
	parts, saves := s.listed(p, list)
	if saves < least {
		return c, false
	}
	text := p.cell.Text(list)
	if len(text) < 2 {
		return c, false
	}
	text = text[1 : len(text)-1]
	if len(call.Args) > 1 {
		text = "(" + text + ")"
	}
	c = p.candidate(Generator, nil, saves)
	c.Edits = replaced(p.cell, list, text)
	c.Title = words.GeneratorFor(name, parts)
	c.Changes = []string{words.SameNumbers()}
	return c, c.Edits != nil
}
