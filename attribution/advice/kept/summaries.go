package kept

import (
	"slices"
	"strings"

	"ipytracer/attribution/advice/evidence"
	"ipytracer/attribution/syntax"
	"ipytracer/model"
	"ipytracer/model/words"
)

// summaries finds loops that collect large results of which later only a summary is used, always the same one.
func summaries(n *evidence.Notebook) (all []evidence.Candidate) {
	for _, s := range loops(n) {
		put, ok := collected(s.Node.(*syntax.For))
		if !ok {
			continue
		}
		v := n.Variable(put.name)
		p := pileOf(s, func(site *evidence.Site) bool { return site.Statement == s })
		if v == nil || v.Kind != "variable" || p == nil || v.Reaches < p.total/2 {
			continue
		}
		uses, summary := usesOf(n, s, put)
		if len(uses) == 0 {
			continue
		}
		if c, ok := summarized(s, put, p, uses, summary); ok {
			c.Falls = func(m *evidence.Moment) int64 {
				stay := int64(1)
				if m.Order == s.Order {
					stay = 2 // the last one, and the next one while it is computed
				}
				return p.but(n, m, stay, v.Reaches)
			}
			all = append(all, c)
		}
	}
	return all
}

// collection is the place where a loop puts a result into a container.
type collection struct {
	name  string // of the container
	value *syntax.Name
	line  int
	pairs bool // the container is a dict
}

// collected returns the place in the body of a loop that puts a name into a container; ok is false if there is none,
// or if what follows may change the value.
func collected(loop *syntax.For) (found collection, ok bool) {
	for i, s := range loop.Body {
		one, is := collects(s)
		if !is {
			continue
		}
		if ok {
			return found, false
		}
		found, ok = one, true
		for _, later := range loop.Body[i+1:] {
			if slices.Contains(namesIn(later), one.value.ID) {
				return found, false
			}
		}
	}
	return found, ok
}

// collects returns the container of NAME.append(VALUE) and NAME[KEY] = VALUE, where VALUE is a name.
func collects(s syntax.Stmt) (collection, bool) {
	switch s := s.(type) {
	case *syntax.ExprStmt:
		call, ok := s.Value.(*syntax.Call)
		if !ok || len(call.Args) != 1 || len(call.Keywords) > 0 {
			return collection{}, false
		}
		to, isAttribute := call.Func.(*syntax.Attribute)
		value, isValue := call.Args[0].(*syntax.Name)
		if !isAttribute || !isValue || to.Attr != "append" {
			return collection{}, false
		}
		list, ok := to.Value.(*syntax.Name)
		if !ok {
			return collection{}, false
		}
		return collection{list.ID, value, s.Start.Line, false}, true
	case *syntax.Assign:
		if len(s.Targets) != 1 {
			return collection{}, false
		}
		to, isSubscript := s.Targets[0].(*syntax.Subscript)
		value, isValue := s.Value.(*syntax.Name)
		if !isSubscript || !isValue {
			return collection{}, false
		}
		dict, ok := to.Value.(*syntax.Name)
		if !ok {
			return collection{}, false
		}
		return collection{dict.ID, value, s.Start.Line, true}, true
	}
	return collection{}, false
}

// use is a comprehension over a container, in which Element is the summary of one value.
type use struct {
	cell     *evidence.Cell
	element  syntax.Expr
	variable string
}

// usesOf returns the uses of a container behind a loop, and the summary with % for the value; none unless all of them
// are comprehensions with the same one.
func usesOf(n *evidence.Notebook, loop *evidence.Statement, put collection) (uses []use, summary string) {
	if !isRead(n, 0) || runsText(n) {
		return nil, ""
	}
	known, same := 0, true
	each(n, 0, func(c *evidence.Cell, node syntax.Node) {
		comp, ok := node.(*syntax.Comp)
		if !ok {
			return
		}
		element, variable, ok := over(comp, put)
		if !ok {
			return
		}
		known++
		text := with(c, element, variable, "%")
		if !isSummary(element, variable) || summary != "" && text != summary || strings.Contains(c.Text(element), "%") {
			same = false
		}
		summary = text
		uses = append(uses, use{c, element, variable})
	})
	empty := 0 // names = [] or {} in front of the loop
	each(n, 0, func(c *evidence.Cell, node syntax.Node) {
		if a, ok := node.(*syntax.Assign); ok && len(a.Targets) == 1 && isName(a.Targets[0], put.name) {
			switch strings.ReplaceAll(c.Text(a.Value), " ", "") {
			case "[]", "{}", "list()", "dict()":
				empty++
			default:
				same = false
			}
		}
		if call, ok := node.(*syntax.Call); ok && isName(call.Func, "len") && len(call.Args) == 1 &&
			isName(call.Args[0], put.name) {
			known++
		}
	})
	if !same || empty != 1 || mentions(n, 0, put.name) != known+empty+1 {
		return nil, ""
	}
	return uses, summary
}

// over returns the element of a comprehension over the values of a container.
func over(comp *syntax.Comp, put collection) (element syntax.Expr, variable string, ok bool) {
	if len(comp.Generators) != 1 || comp.Generators[0].Async || len(comp.Generators[0].Ifs) > 0 {
		return nil, "", false
	}
	g := comp.Generators[0]
	element = comp.Elt
	if comp.Value != nil {
		element = comp.Value
	}
	target, isNamed := g.Target.(*syntax.Name)
	switch call, isCall := g.Iter.(*syntax.Call); {
	case !put.pairs && isName(g.Iter, put.name) && isNamed:
		variable = target.ID
	case put.pairs && isCall && isName(call.Func, put.name+".values") && len(call.Args) == 0 && isNamed:
		variable = target.ID
	case put.pairs && isCall && isName(call.Func, put.name+".items") && len(call.Args) == 0:
		names := targets(g.Target)
		if len(names) != 2 {
			return nil, "", false
		}
		variable = names[1]
		if comp.Value != nil && slices.Contains(namesIn(comp.Elt), variable) {
			return nil, "", false
		}
	default:
		return nil, "", false
	}
	return element, variable, comp.Value == nil || !slices.Contains(namesIn(comp.Elt), variable)
}

// Methods and functions that make a small value of a large one, and functions that may be around or inside of them.
var (
	reductions = []string{"mean", "std", "var", "sum", "min", "max", "median", "argmin", "argmax", "any", "all", "prod",
		"ptp", "nanmean", "nansum", "nanmin", "nanmax", "nanstd", "count_nonzero", "trace", "average"}
	elementwise = []string{"square", "abs", "absolute", "exp", "log", "sqrt", "sign", "isnan", "isfinite"}
	converts    = []string{"float", "int", "round", "bool"}
)

// isSummary reports whether an expression makes a small value of a variable, from nothing else.
func isSummary(e syntax.Expr, variable string) bool {
	call, ok := e.(*syntax.Call)
	if !ok || len(call.Keywords) > 0 {
		return false
	}
	name := dotted(call.Func)
	switch f := call.Func.(type) {
	case *syntax.Name:
		return len(call.Args) > 0 && (slices.Contains(converts, name) && constant(call.Args[1:]) &&
			isSummary(call.Args[0], variable) ||
			name == "len" && isName(call.Args[0], variable))
	case *syntax.Attribute:
		if !slices.Contains(reductions, f.Attr) {
			return false
		}
		if isName(f.Value, "np", "numpy") {
			return len(call.Args) == 1 && isPart(call.Args[0], variable)
		}
		return len(call.Args) == 0 && isPart(f.Value, variable)
	}
	return false
}

// constant reports whether all arguments are literals.
func constant(args []syntax.Expr) bool {
	return !slices.ContainsFunc(args, func(e syntax.Expr) bool {
		_, ok := e.(*syntax.Constant)
		return !ok
	})
}

// isPart reports whether an expression is the variable, or a function of its elements.
func isPart(e syntax.Expr, variable string) bool {
	switch e := e.(type) {
	case *syntax.Name:
		return e.ID == variable
	case *syntax.Call:
		module, function, ok := strings.Cut(dotted(e.Func), ".")
		return ok && (module == "np" || module == "numpy") && slices.Contains(elementwise, function) &&
			len(e.Args) == 1 && len(e.Keywords) == 0 && isPart(e.Args[0], variable)
	case *syntax.BinOp:
		_, ok := e.Right.(*syntax.Constant)
		return ok && isPart(e.Left, variable)
	}
	return false
}

// with returns the text of an expression with other text for a name.
func with(c *evidence.Cell, e syntax.Expr, name, text string) string {
	var out strings.Builder
	source, at := c.Window.Source, e.Place().Start.Offset
	syntax.Walk(e, func(node syntax.Node) bool {
		if one, ok := node.(*syntax.Name); ok && one.ID == name && one.Start.Offset >= at {
			out.WriteString(source[at:one.Start.Offset])
			out.WriteString(text)
			at = one.End.Offset
		}
		return true
	})
	out.WriteString(source[at:e.Place().End.Offset])
	return out.String()
}

// summarized returns the candidate that collects summaries.
func summarized(s *evidence.Statement, put collection, p *pile, uses []use, summary string) (evidence.Candidate, bool) {
	c := candidate("summary", s.Cell, put.line, put.name)
	changes := patch{}
	changes.put(s.Cell, put.value, strings.ReplaceAll(summary, "%", put.value.ID))
	for _, u := range uses {
		changes.put(u.cell, u.element, u.variable)
	}
	var ok bool
	c.Edits, ok = changes.edits()
	c.Accuracy = model.SavesBound
	c.Title = words.SummaryKept(put.name, p.count, p.total, strings.ReplaceAll(summary, "%", put.value.ID))
	c.Changes = []string{words.SummaryOnly(put.name)}
	c.Of = put.name
	return c, ok
}
