package kept

import (
	"slices"
	"strings"

	"ipytracer/attribution/advice/evidence"
	"ipytracer/attribution/syntax"
	"ipytracer/model"
	"ipytracer/model/words"
)

// caches finds functions of which functools keeps many large results.
func caches(n *evidence.Notebook) (all []evidence.Candidate) {
	for i := range n.Variables {
		v := &n.Variables[i]
		if len(all) == most {
			break
		}
		if v.Kind != "variable" || v.Bytes < least || v.Type != "functools._lru_cache_wrapper" {
			continue
		}
		if c, f := definition(n, v.Name); f != nil {
			if found, ok := cache(n, v, c, f); ok {
				all = append(all, found)
			}
		}
	}
	return all
}

// definition returns the last definition of a function at the top of a cell.
func definition(n *evidence.Notebook, name string) (*evidence.Cell, *syntax.FunctionDef) {
	for i := len(n.Cells) - 1; i >= 0; i-- {
		if n.Cells[i].Tree == nil {
			continue
		}
		for _, s := range n.Cells[i].Tree.Body {
			if f, ok := s.(*syntax.FunctionDef); ok && f.Name == name {
				return n.Cells[i], f
			}
		}
	}
	return nil, nil
}

func cache(n *evidence.Notebook, v *model.Variable, c *evidence.Cell, f *syntax.FunctionDef) (
	evidence.Candidate, bool,
) {
	of := within(c, f)
	entries := entriesOf(n, of, v.Bytes)
	decorator, text := bounded(c, f)
	if entries < 4 || decorator == nil || usesCache(n, f.Name) || callsItself(f) {
		return evidence.Candidate{}, false
	}
	out := candidate("cache", c, decorator.Place().Start.Line, f.Name)
	p := patch{}
	p.put(c, decorator, text)
	var ok bool
	if out.Edits, ok = p.edits(); !ok {
		return out, false
	}
	if strings.HasPrefix(text, "functools.") {
		out.Edits = append(importing(n, c, out.Line, "functools"), out.Edits...)
	}
	entry := v.Bytes / entries
	out.Falls = func(m *evidence.Moment) int64 { return max(0, min(v.Bytes, n.Resident(m, of))-2*entry) }
	out.Title = words.CacheKept(f.Name, entries, v.Bytes)
	out.Changes = []string{words.CacheAgain(f.Name)}
	out.Unknown = []string{words.CacheHits(f.Name)}
	out.Of = f.Name
	return out, true
}

// within returns a function that reports whether a site is below a function of a cell.
func within(c *evidence.Cell, f *syntax.FunctionDef) func(*evidence.Site) bool {
	place := f.Place()
	return func(site *evidence.Site) bool {
		for _, frame := range site.Stack {
			inside := place.Start.Line <= frame.Line && frame.Line <= place.End.Line
			if inside && frame.Execution == c.Window.Execution && frame.Function != "<module>" {
				return true
			}
		}
		return false
	}
}

// entriesOf returns how many calls of a function left some bytes: not more than the blocks of any of its sites with a
// part of these.
func entriesOf(n *evidence.Notebook, of func(*evidence.Site) bool, bytes int64) (entries int64) {
	made, count := map[*evidence.Site]int64{}, map[*evidence.Site]int64{}
	for _, s := range n.Statements {
		if s.Moment == nil {
			continue
		}
		for site, all := range s.Moment.Made {
			if of(site) && site.Meter != "cpu.mapped" {
				made[site] += all
				count[site] += s.Moment.Count[site]
			}
		}
	}
	for site, all := range made {
		if all >= bytes/8 && (entries == 0 || count[site] < entries) {
			entries = count[site]
		}
	}
	return entries
}

// bounded returns the decorator that makes a cache, and one that keeps the last result only; nil if it is not known.
func bounded(c *evidence.Cell, f *syntax.FunctionDef) (decorator syntax.Expr, text string) {
	for _, d := range f.Decorators {
		of := d
		if call, ok := d.(*syntax.Call); ok {
			of = call.Func
			switch {
			case len(call.Args)+len(call.Keywords) > 1:
				continue
			case len(call.Keywords) == 1 && call.Keywords[0].Arg != "maxsize":
				continue
			}
		}
		switch name := dotted(of); name {
		case "lru_cache", "functools.lru_cache":
			return d, name + "(maxsize=1)"
		case "functools.cache":
			return d, "functools.lru_cache(maxsize=1)"
		case "cache":
			return d, "functools.lru_cache(maxsize=1)"
		}
	}
	return nil, ""
}

// callsItself reports whether a function needs its own earlier results.
func callsItself(f *syntax.FunctionDef) bool {
	return slices.ContainsFunc(f.Body, func(s syntax.Stmt) bool { return slices.Contains(namesIn(s), f.Name) })
}

// usesCache reports whether a cell asks a cache for its state.
func usesCache(n *evidence.Notebook, name string) (used bool) {
	each(n, 0, func(_ *evidence.Cell, node syntax.Node) {
		if a, ok := node.(*syntax.Attribute); ok && a.Attr != "cache_clear" {
			used = used || isName(a.Value, name)
		}
	})
	return used
}
