package arrays

import (
	"fmt"
	"strings"

	"ipytracer/attribution/advice/evidence"
	"ipytracer/attribution/syntax"
	"ipytracer/model"
	"ipytracer/model/words"
)

// joins are functions that make one array of a list of arrays. rows: they put arrays on a new first axis.
var joins = map[string]bool{"concatenate": false, "vstack": false, "hstack": false, "array": true, "stack": true}

// joined finds lists of arrays that become one array, which takes the memory twice.
func (s *finder) joined() (found []evidence.Candidate) {
	for _, m := range s.n.Moments {
		if !s.step() {
			break
		}
		if m.Statement == nil {
			continue
		}
		name, e, ok := assigned(m.Statement.Node)
		if !ok {
			continue
		}
		of, call := s.call(e)
		if _, joins := joins[of]; call == nil || !joins || len(call.Args) != 1 || len(call.Keywords) > 0 {
			continue
		}
		j := &joining{finder: s, m: m, name: name, of: of}
		switch list := call.Args[0].(type) {
		case *syntax.Name:
			ok = j.named(list.ID)
		case *syntax.Comp:
			ok = list.Kind == "list" && j.inside(list)
		default:
			ok = false
		}
		if c, ok2 := j.candidate(); ok && ok2 {
			found = append(found, c)
		}
	}
	return found
}

// joining is a call that makes one array of a list.
type joining struct {
	*finder
	m     *evidence.Moment
	name  string // of the array
	of    string // the function of NumPy
	list  string // the name of the list
	first []string
	sites map[*evidence.Site]bool // that allocated the parts
	parts int64                   // their bytes
	part  int64                   // the bytes of the largest
	// emptied: the list has a name, that has an empty list afterwards. held: a name may hold a part besides it.
	emptied, held bool
}

// named is about a list with a name, that a loop or a comprehension made.
func (j *joining) named(list string) bool {
	b, ok := j.before(list, j.m.Order, j.m.Statement.Node.Place().Start.Offset)
	if !ok || j.shared[list] || j.after(list, j.m.Order) || !isList(b.value) || j.readLater(list) {
		return false
	}
	j.list, j.sites = list, map[*evidence.Site]bool{}
	for _, st := range j.n.Statements {
		if st.Order < b.order || st.Order >= j.m.Order || st.Node == nil || !j.mentions(st.Node, list) {
			continue
		}
		h := holding{values: j.values, name: list, list: true}
		if h.statement(st.Node); h.escapes {
			return false
		}
		j.held = j.held || j.appendsName(st.Node, list)
		for site := range j.m.Live {
			if site.Statement == st && site.Meter == numpyMeter {
				j.sites[site] = true
			}
		}
	}
	j.parts = j.m.Bytes(func(s *evidence.Site) bool { return j.sites[s] })
	j.emptied = true
	return true
}

// appendsName reports whether a statement appends to a list what a name has.
func (s *scene) appendsName(node syntax.Node, list string) bool {
	found := false
	s.walk(node, func(node syntax.Node) bool {
		c, ok := node.(*syntax.Call)
		if !ok || len(c.Args) != 1 {
			return true
		}
		a, ok := c.Func.(*syntax.Attribute)
		_, name := c.Args[0].(*syntax.Name)
		found = found || ok && name && s.mentions(a.Value, list)
		return true
	})
	return found
}

// isList reports whether an expression makes a new list.
func isList(e syntax.Expr) bool {
	switch x := e.(type) {
	case *syntax.List:
		return len(x.Elts) == 0
	case *syntax.Comp:
		return x.Kind == "list"
	}
	return false
}

// readLater reports whether a statement that runs later reads a name, or a function does that may.
func (j *joining) readLater(name string) bool {
	for _, st := range j.n.Statements {
		if st.Order <= j.m.Order && !isDefinition(st.Node) {
			continue
		}
		if st.Node == nil && strings.Contains(st.Source(), name) || st.Node != nil && j.mentions(st.Node, name) {
			if d, ok := st.Node.(*syntax.Delete); ok && len(d.Targets) > 0 {
				continue
			}
			return true
		}
	}
	return false
}

func isDefinition(node syntax.Stmt) bool {
	switch node.(type) {
	case *syntax.FunctionDef, *syntax.ClassDef:
		return true
	}
	return false
}

// inside is about a list that is made in the call.
func (j *joining) inside(list *syntax.Comp) bool {
	text, ok := flat(j.m.Cell, list)
	if !ok {
		return false
	}
	j.list, j.sites = j.free("parts"), map[*evidence.Site]bool{}
	j.first = []string{j.list + " = " + text}
	for site, made := range j.m.Made {
		if made > 0 && isNumPy(site) && site.Statement == j.m.Statement && inComprehension(site, j.m.Cell, list) {
			j.sites[site] = true
		}
	}
	j.parts = j.m.Bytes(func(s *evidence.Site) bool { return j.sites[s] })
	return true
}

// inComprehension reports whether an item of a list comprehension allocated the memory of a site. CPython up to 3.11
// shows the comprehension as a call; later ones show what it calls.
func inComprehension(s *evidence.Site, c *evidence.Cell, list *syntax.Comp) bool {
	for i := range s.Stack {
		f := &s.Stack[i]
		if f.Execution != c.Window.Execution || f.Line < list.Start.Line || f.Line > list.End.Line {
			continue
		}
		if strings.HasSuffix("."+f.Function, ".<listcomp>") || i > 0 && s.Stack[0].Execution > 0 {
			return true
		}
	}
	return false
}

// candidate returns the advice, if the parts are as large as the array that is made of them.
func (j *joining) candidate() (c evidence.Candidate, ok bool) {
	st := j.m.Statement
	v := j.n.Variable(j.name)
	if v == nil || !isArray(v) || len(v.Shape) == 0 || itemSize(v.DType) == 0 || j.after(j.name, j.m.Order) ||
		j.module() == "" || j.parts == 0 {
		return c, false
	}
	whole := elements(value{shape: v.Shape}) * itemSize(v.DType)
	if whole < 2*least || j.parts < whole-whole/20 || j.parts > whole+whole/10 || j.m.Live[j.result()] < whole {
		return c, false
	}
	if j.part = j.largest(); j.part == 0 {
		return c, false
	}
	lines, ok := j.lines(v)
	if !ok {
		return c, false
	}
	stays := j.part
	if j.held {
		stays += j.part
	}
	if j.part < evidence.HeapMost {
		if j.freed() >= j.part-j.part/8 { // the parts may lie in a heap, which gives back only what is at its end
			return c, false
		}
		stays += j.part
	}
	saves := min(j.parts, whole, j.m.Peak-j.m.Start) - stays
	if saves < least {
		return c, false
	}
	c = evidence.Candidate{Kind: Joined, Cell: j.m.Cell, Line: st.Line, Names: []string{j.name},
		Accuracy: model.SavesBound, Of: st.Source()}
	c.Falls = func(m *evidence.Moment) int64 {
		switch {
		case m == j.m:
			return saves
		case m.Order > j.m.Order && j.emptied:
			return max(0, m.Bytes(func(s *evidence.Site) bool { return j.sites[s] })-2*j.part)
		}
		return 0
	}
	if c.Edits, ok = instead(j.m.Cell, st.Node, lines); !ok {
		return c, false
	}
	c.Title = words.JoinedArrays(j.name, whole, j.list)
	c.Changes = []string{words.JoinedChanges(j.list, j.emptied)}
	return c, true
}

// result returns the site that allocated the one array.
func (j *joining) result() *evidence.Site {
	var found *evidence.Site
	for site := range j.m.Made {
		if site.Meter == numpyMeter && !j.sites[site] && (found == nil || j.m.Live[site] > j.m.Live[found]) {
			found = site
		}
	}
	return found
}

// largest returns the size of one part, 0 if it is not known: all moments show how many there were.
func (j *joining) largest() (most int64) {
	for site := range j.sites {
		for _, m := range j.n.Moments {
			if count := m.Count[site]; count > 0 {
				most = max(most, (m.Made[site]+count-1)/count)
			}
		}
	}
	return most
}

// freed returns the size of the largest array that went before, of those that malloc keeps in its heaps afterwards.
func (j *joining) freed() (most int64) {
	for _, m := range j.n.Moments {
		if m.Order > j.m.Order {
			break
		}
		for site, made := range m.Made {
			kept := m.Kept[site]
			if m == j.m && j.sites[site] {
				kept = m.Live[site]
			}
			if count := m.Count[site]; count > 0 && kept < made && made/count < evidence.HeapMost {
				most = max(most, made/count)
			}
		}
	}
	return most
}

// lines returns the code that fills the array from the end of the list, so that each part goes when it is copied.
func (j *joining) lines(v *model.Variable) ([]string, bool) {
	np, list := j.module(), j.list
	dtype := ", dtype=" + np + "." + v.DType + ")"
	if v.DType == "bool" {
		dtype = ", dtype=bool)"
	}
	rows := joins[j.of]
	shape := fmt.Sprintf("(len(%s), *%s[0].shape)", list, list)
	if j.of == "vstack" && len(v.Shape) == 2 && v.Shape[0]*j.part == j.parts {
		rows, shape = true, fmt.Sprintf("(len(%s), %s[0].shape[-1])", list, list)
	}
	if j.of == "hstack" && len(v.Shape) != 1 {
		return nil, false
	}
	if rows {
		i := j.free("i")
		return append(j.first, j.name+" = "+np+".empty("+shape+dtype,
			fmt.Sprintf("for %s in reversed(range(len(%s))):", i, list),
			fmt.Sprintf("    %s[%s] = %s.pop()", j.name, i, list), "del "+list), true
	}
	part, end := j.free("part"), j.free("end")
	shape = fmt.Sprintf("sum(len(%s) for %s in %s)", part, part, list)
	if len(v.Shape) > 1 {
		shape = fmt.Sprintf("(%s, *%s[0].shape[1:])", shape, list)
	}
	return append(j.first, j.name+" = "+np+".empty("+shape+dtype, end+" = len("+j.name+")",
		"while "+list+":",
		fmt.Sprintf("    %s = %s.pop()", part, list),
		fmt.Sprintf("    %s[%s - len(%s):%s] = %s", j.name, end, part, end, part),
		fmt.Sprintf("    %s -= len(%s)", end, part),
		"del "+part+", "+list), true
}
