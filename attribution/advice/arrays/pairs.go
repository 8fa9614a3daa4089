package arrays

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ipytracer/attribution/advice/evidence"
	"ipytracer/attribution/syntax"
	"ipytracer/model"
	"ipytracer/model/words"
)

// pairwise is about distances of all pairs: the differences need not live at once.
func (s *finder) pairwise(p *place) (c evidence.Candidate, ok bool) {
	t := s.spreadIn(p)
	if t == nil || s.module() == "" {
		return c, false
	}
	if len(t.chain) > 0 && t.chain[0].ran != nil {
		return c, false // chained finds it
	}
	lines, needs, ok := t.lines()
	if !ok {
		return c, false
	}
	saves := p.saves(needs, t.before())
	for _, l := range t.chain {
		for _, other := range s.hot {
			if other.node == l.node && other.cell == l.cell {
				saves += other.live
			}
		}
	}
	if saves < max(least, t.result()/2) {
		return c, false
	}
	return t.candidate(lines, falls(p.moment, saves))
}

// chained finds distances that several statements at the top of cells compute, with the arrays in between under names.
func (s *finder) chained() (found []evidence.Candidate) {
	for _, m := range s.n.Moments {
		if m.Statement == nil || m.Statement.Node == nil || !s.step() {
			continue
		}
		p := &place{cell: m.Cell, node: m.Statement.Node, running: m.Statement, moment: m}
		t := s.spreadIn(p)
		if t == nil || len(t.chain) == 0 || t.chain[0].ran == nil || s.module() == "" {
			continue
		}
		lines, needs, ok := t.lines()
		if !ok {
			continue
		}
		if c, ok := t.candidate(lines, t.falls(needs)); ok {
			found = append(found, c)
		}
	}
	return found
}

// falls returns by how much lower moments are without the intermediate arrays.
func (t *spread) falls(needs int64) func(*evidence.Moment) int64 {
	of := func(site *evidence.Site) bool {
		for _, l := range t.chain {
			if site.Statement == l.ran {
				return isNumPy(site)
			}
		}
		return false
	}
	own := func(site *evidence.Site) bool { return isNumPy(site) && site.Statement == t.p.running }
	return func(m *evidence.Moment) int64 {
		bytes := t.n.Resident(m, of)
		if m == t.p.moment {
			bytes += m.Bytes(own) - needs
		}
		return max(0, bytes)
	}
}

// before returns the size of the distances that a loop has from the turn before.
func (t *spread) before() int64 {
	if _, e, ok := assigned(t.p.node); ok && e == t.whole {
		return t.result()
	}
	return 0
}

// result returns the size of the distances.
func (t *spread) result() int64 {
	return t.x.value.shape[0] * t.y.value.shape[0] * itemSize(t.x.value.dtype)
}

// lines returns the code that computes the distances without the array of all differences, and the memory that it
// needs.
func (t *spread) lines() (lines []string, needs int64, ok bool) {
	name, e, is := assigned(t.p.node)
	direct := is && e == t.whole && !t.mentions(e, name) && name != t.x.text && name != t.y.text
	if !direct {
		name = t.free("distances")
	}
	metric := t.metric()
	if cdist, first := t.cdist(); metric != "" && cdist != "" {
		if first != "" {
			lines = append(lines, first)
		}
		lines = append(lines, fmt.Sprintf("%s = %s(%s, %s%s)", name, cdist, t.x.text, t.y.text, metric))
		needs, t.bySciPy = t.result(), true
	} else if lines, needs, ok = t.loop(name); !ok {
		return nil, 0, false
	}
	if direct {
		return lines, needs, true
	}
	rest, ok := t.around(t.p, t.whole, name)
	return append(lines, rest...), needs, ok
}

// loop returns a loop over the rows of the array that has fewer.
func (t *spread) loop(name string) (lines []string, needs int64, ok bool) {
	over, other := t.x, t.y
	i := t.free("i")
	target := name + "[" + i + "]"
	if t.y.value.shape[0] < t.x.value.shape[0] {
		over, other = t.y, t.x
		target = name + "[:, " + i + "]"
	}
	texts := map[syntax.Expr]string{}
	for e, of := range t.leaves {
		switch {
		case of == nil:
		case of.first == over.first:
			texts[e] = over.text + "[" + i + "]"
		default:
			texts[e] = other.text
		}
	}
	for _, k := range t.call.Keywords {
		if isAxis(k.Value, "2") {
			texts[k.Value] = "1"
		}
	}
	if n := len(t.call.Args); n > 0 && isAxis(t.call.Args[n-1], "2") {
		texts[t.call.Args[n-1]] = "1"
	}
	text, ok := t.code(t.p.cell, t.whole, texts)
	if !ok {
		return nil, 0, false
	}
	dtype := ""
	if t.x.value.dtype != "float64" {
		dtype = ", dtype=" + t.module() + "." + t.x.value.dtype
	}
	lines = []string{
		fmt.Sprintf("%s = %s.empty((len(%s), len(%s))%s)", name, t.module(), t.x.text, t.y.text, dtype),
		fmt.Sprintf("for %s in range(len(%s)):", i, over.text), "    " + target + " = " + text,
	}
	return lines, t.result() + t.atOnce()*elements(other.value)*itemSize(other.value.dtype), true
}

// atOnce returns how many arrays as large as the differences live at the same time. NumPy uses the memory of some of
// them again; the session shows how many there were.
func (t *spread) atOnce() int64 {
	all := t.result() * t.x.value.shape[1]
	if t.p.live == 0 || all == 0 {
		return 2
	}
	return max(1, (t.p.live-t.result()+all*9/10)/all)
}

// metric returns the argument of cdist that computes the same; "" if there is none.
func (t *spread) metric() string {
	e := t.named(t.of)
	if t.x.value.dtype != "float64" || t.name != "sum" && t.name != "linalg.norm" {
		return ""
	}
	inner, square := e, t.name == "linalg.norm"
	switch x := e.(type) {
	case *syntax.BinOp:
		if x.Op == "**" && isAxis(x.Right, "2") && t.name == "sum" {
			inner, square = t.named(x.Left), true
		}
	case *syntax.Call:
		if t.name == "sum" && len(x.Args) == 1 {
			inner, square = t.named(x.Args[0]), t.numpy(x.Func) == "square"
			name := t.full(x.Func)
			if !square && name != "numpy.abs" && name != "numpy.absolute" && name != "builtins.abs" {
				return ""
			}
		}
	}
	minus, ok := inner.(*syntax.BinOp)
	if !ok || minus.Op != "-" || t.leaves[minus.Left] == nil || t.leaves[minus.Right] == nil {
		return ""
	}
	switch {
	case t.name == "linalg.norm" && !t.root || square && t.root && t.name == "sum":
		return `, "euclidean"`
	case square && t.name == "sum":
		return `, "sqeuclidean"`
	case !square && !t.root && inner != e:
		return `, "cityblock"`
	}
	return ""
}

// named returns the value of an intermediate name, and all other expressions as they are.
func (t *spread) named(e syntax.Expr) syntax.Expr {
	for range maxLinks {
		of, leaf := t.leaves[e]
		if !leaf || of != nil {
			break
		}
		for _, l := range t.chain {
			if isNamed(e, l.name) {
				e = l.value
				break
			}
		}
	}
	return e
}

// cdist returns the name of SciPy's function for distances, and the line that imports it where that is missing; "" if
// the notebook does not use SciPy.
func (t *spread) cdist() (name, first string) {
	const module = "scipy.spatial.distance"
	scipy := false
	for as, of := range t.modules {
		if len(t.binds[as]) > 0 {
			continue
		}
		switch {
		case of == module+".cdist":
			return as, ""
		case of == module:
			name = as + ".cdist"
		}
		scipy = scipy || of == "scipy" || strings.HasPrefix(of, "scipy.")
	}
	if name == "" && scipy && !t.isTaken("cdist") {
		return "cdist", "from " + module + " import cdist"
	}
	return name, ""
}

// candidate returns the advice.
func (t *spread) candidate(lines []string, falls func(*evidence.Moment) int64) (c evidence.Candidate, ok bool) {
	p := t.p
	c = evidence.Candidate{Kind: Pairwise, Cell: p.cell, Line: p.node.Place().Start.Line, Accuracy: model.SavesBound,
		Falls: falls, Of: p.running.Source()}
	if c.Edits, ok = instead(p.cell, p.node, lines); !ok {
		return c, false
	}
	for _, l := range t.chain {
		edits, ok := instead(l.cell, l.node, []string{"# " + words.PairwiseGone(l.name)})
		if !ok {
			return c, false
		}
		c.Edits = append(c.Edits, edits...)
		for _, s := range l.shapes {
			text := fmt.Sprintf("(len(%s), len(%s), %s.shape[1])", t.x.text, t.y.text, t.x.text)
			c.Edits = append(c.Edits, replaced(s.cell, s.node, text)...)
		}
	}
	all := t.result() * t.x.value.shape[1]
	c.Title = words.Pairwise(all, t.result())
	c.Changes = []string{words.SameNumbers()}
	if t.bySciPy {
		c.Changes = []string{words.LastDigits("float64")}
	}
	return c, apart(c.Edits)
}

// apart sorts edits, and reports whether no two of them change the same line.
func apart(edits []model.AdviceEdit) bool {
	slices.SortStableFunc(edits, func(a, b model.AdviceEdit) int {
		return cmp.Or(cmp.Compare(a.Execution, b.Execution), cmp.Compare(a.StartLine, b.StartLine))
	})
	for i := range edits {
		for j := range edits[:i] {
			a, b := &edits[i], &edits[j]
			if a.Execution == b.Execution && a.StartLine <= b.EndLine && b.StartLine <= a.EndLine {
				return false
			}
		}
	}
	return true
}
