package kept

import (
	"slices"
	"strings"

	"ipytracer/attribution/advice/evidence"
	"ipytracer/attribution/syntax"
	"ipytracer/model"
	"ipytracer/model/words"
)

// figures finds loops that make figures with pyplot and close none.
func figures(n *evidence.Notebook) (all []evidence.Candidate) {
	for _, s := range loops(n) {
		loop := s.Node.(*syntax.For)
		fig := figureOf(loop)
		if fig == nil {
			continue
		}
		if c, ok := figure(n, s, loop, fig); ok {
			all = append(all, c)
		}
	}
	return all
}

// made is the call that makes a figure in a loop.
type made struct {
	call   *syntax.Call
	pyplot string // the name of the module
	name   string // of the figure; "" if it has none
	names  []string
}

// figureOf returns the call that makes a figure in each pass; nil if there is none, or if figures are closed or shown.
func figureOf(loop *syntax.For) (found *made) {
	for _, s := range loop.Body {
		value, targets := valueOf(s)
		call, ok := value.(*syntax.Call)
		if !ok {
			continue
		}
		module, function, ok := strings.Cut(dotted(call.Func), ".")
		if !ok || module != "plt" && module != "pyplot" || function != "figure" && function != "subplots" {
			continue
		}
		if found != nil || hasNumber(call, function) {
			return nil
		}
		found = &made{call: call, pyplot: module}
		if found.names = targets; len(targets) > 0 {
			found.name = targets[0]
		}
	}
	if found != nil && found.closes(loop) {
		return nil
	}
	return found
}

// valueOf returns the value of an assignment and its first names, or that of an expression.
func valueOf(s syntax.Stmt) (syntax.Expr, []string) {
	switch s := s.(type) {
	case *syntax.Assign:
		return s.Value, targets(s.Targets[0])
	case *syntax.ExprStmt:
		return s.Value, nil
	}
	return nil, nil
}

// hasNumber reports whether a figure has a number: then the same one is used again.
func hasNumber(call *syntax.Call, function string) bool {
	if function == "figure" && len(call.Args) > 0 {
		return true
	}
	return slices.ContainsFunc(call.Keywords, func(k *syntax.Keyword) bool {
		return k.Arg == "num" || k.Arg == "clear" || k.Arg == ""
	})
}

// ends are functions and methods that close, empty or show figures.
var ends = []string{"close", "clf", "cla", "clear", "show", "display"}

// closes reports whether a loop calls something that closes, empties, shows or keeps its figures.
func (f *made) closes(loop *syntax.For) (found bool) {
	syntax.Walk(loop, func(node syntax.Node) bool {
		switch node := node.(type) {
		case *syntax.Call:
			name := dotted(node.Func)
			name = name[strings.LastIndexByte(name, '.')+1:]
			keeps := name == "append" && len(node.Args) == 1 && f.isIn(node.Args[0])
			found = found || keeps || slices.Contains(ends, name)
		case *syntax.Assign: // all[i] = fig
			_, isName := node.Targets[0].(*syntax.Name)
			found = found || !isName && node.Value != f.call && f.isIn(node.Value)
		}
		return !found
	})
	return found
}

// isIn reports whether an expression has a name of the figure or of its axes.
func (f *made) isIn(e syntax.Expr) bool {
	return slices.ContainsFunc(namesIn(e), func(name string) bool { return slices.Contains(f.names, name) })
}

func figure(n *evidence.Notebook, s *evidence.Statement, loop *syntax.For, fig *made) (evidence.Candidate, bool) {
	passes := passesOf(s)
	if passes < 4 {
		return evidence.Candidate{}, false
	}
	c := candidate("figures", s.Cell, fig.call.Place().Start.Line)
	if fig.name != "" {
		c.Names = []string{fig.name}
	}
	edit, ok := behind(s.Cell, loop, fig.pyplot+".close("+fig.name+")", "gc.collect()")
	if !ok || fig.name != "" && mentionsBehind(n, s, fig.name) {
		return c, false
	}
	c.Edits = append(importing(n, s.Cell, loop.Start.Line, "gc"), edit)
	of := func(site *evidence.Site) bool {
		return site.Statement == s && s.Moment.Count[site] >= passes*3/4 && s.Moment.Kept[site] > 0
	}
	c.Falls = func(m *evidence.Moment) int64 {
		if m.Order < s.Order {
			return 0
		}
		return n.Resident(m, of) * (passes - 1) / passes
	}
	c.Accuracy = model.SavesGuess
	c.Title = words.FiguresKept(passes, s.Moment.KeptBytes(of))
	c.Changes = []string{words.FiguresClosed(), words.Collects()}
	c.Unknown = []string{words.FigurePieces()}
	return c, true
}

// passesOf returns how many figures a loop made: the blocks of the largest site below matplotlib that kept some.
func passesOf(s *evidence.Statement) (count int64) {
	var most int64
	for site, bytes := range s.Moment.Kept {
		if s.Moment.Count[site] >= 4 && bytes > most && drawn(site) {
			most, count = bytes, s.Moment.Count[site]
		}
	}
	return count
}

// drawn reports whether matplotlib is among the calls.
func drawn(site *evidence.Site) bool {
	return slices.ContainsFunc(site.Stack, func(f model.Frame) bool { return strings.Contains(f.File, "/matplotlib/") })
}

// mentionsBehind reports whether a name stands behind a statement: in a later one, or in a later cell.
func mentionsBehind(n *evidence.Notebook, s *evidence.Statement, name string) bool {
	if mentions(n, s.Cell.Index+1, name) > 0 || !isRead(n, s.Cell.Index+1) {
		return true
	}
	found := false
	for _, one := range s.Cell.Tree.Body {
		if one.Place().Start.Offset > s.Node.Place().Start.Offset {
			found = found || slices.Contains(namesIn(one), name)
		}
	}
	return found
}
