package arrays

import (
	"slices"
	"strings"

	"ipytracer/attribution/advice/evidence"
	"ipytracer/attribution/syntax"
	"ipytracer/model"
	"ipytracer/model/words"
)

// gridding has the rule about grids.
type gridding struct{ *finder }

// grids finds full grids of which only expressions are used that stretch the axes anyway.
func (s gridding) grids() (found []evidence.Candidate) {
	for _, st := range s.n.Statements {
		a, ok := st.Node.(*syntax.Assign)
		if !ok || st.Order > s.n.Peak.Order || len(a.Targets) != 1 {
			continue
		}
		call, ok := a.Value.(*syntax.Call)
		if !ok {
			continue
		}
		if s.numpy(call.Func) != "meshgrid" || keyword(call, "sparse") != nil {
			continue
		}
		if c, ok := s.grid(st, a, call); ok {
			found = append(found, c)
		}
	}
	return found
}

func (s gridding) grid(st *evidence.Statement, a *syntax.Assign, call *syntax.Call) (c evidence.Candidate, ok bool) {
	target, ok := a.Targets[0].(*syntax.Tuple)
	if !ok || len(target.Elts) != len(call.Args) || len(target.Elts) < 2 {
		return c, false
	}
	var names []string
	for _, e := range target.Elts {
		name, ok := e.(*syntax.Name)
		if !ok || s.shared[name.ID] || len(s.binds[name.ID]) != 1 {
			return c, false
		}
		names = append(names, name.ID)
	}
	for _, other := range s.n.Statements {
		if other == st {
			continue
		}
		if other.Node == nil {
			if strings.Contains(other.Source(), names[0]) {
				return c, false
			}
			continue
		}
		if !s.stretches(other.Node, names) {
			return c, false
		}
	}
	of := func(site *evidence.Site) bool { return site.Meter == numpyMeter && site.Statement == st }
	total := s.n.Peak.Bytes(of)
	if total < 2*least {
		return c, false
	}
	c = evidence.Candidate{Kind: Grid, Cell: st.Cell, Line: st.Line, Names: names, Accuracy: model.SavesBound,
		Of: st.Source()}
	axes := s.axes(names, total)
	temps := map[*evidence.Statement]int64{}
	for _, m := range s.n.Moments {
		if m.Statement != nil && m.Statement != st {
			temps[m.Statement] = s.lessTemps(m, names)
		}
	}
	c.Falls = func(m *evidence.Moment) int64 {
		return max(0, s.n.Resident(m, of)-axes) + temps[m.Statement]
	}
	c.Edits = replaced(st.Cell, call, insertedBefore(st.Cell.Text(call), "sparse=True"))
	c.Title = words.SparseGrid(strings.Join(names, " and "), total)
	c.Changes = []string{words.SparseGridChanges(strings.Join(names, " and "))}
	return c, c.Edits != nil
}

// lessTemps returns by how much less memory the expression of a statement needs with a sparse grid, besides the grid:
// what was made of one axis is small.
func (s gridding) lessTemps(m *evidence.Moment, names []string) int64 {
	var e syntax.Expr
	switch x := m.Statement.Node.(type) {
	case *syntax.Assign:
		e = x.Value
	case *syntax.ExprStmt:
		e = x.Value
	default:
		return 0
	}
	if !s.step() || !s.mentions(e, names[0]) {
		return 0
	}
	p := at{order: m.Order, offset: e.Place().Start.Offset}
	s.instead = map[string]value{}
	defer func() { s.instead = nil }()
	for i, name := range names {
		v := s.n.Variable(name)
		if v == nil || len(v.Shape) != len(names) {
			return 0
		}
		sparse := value{sort: array, dtype: v.DType, shape: make([]int64, len(names))}
		for axis := range sparse.shape {
			sparse.shape[axis] = 1
		}
		axis := s.axisOf(name, i, len(names))
		sparse.shape[axis] = v.Shape[axis]
		sparse.bytes = elements(sparse) * itemSize(v.DType)
		s.instead[name] = sparse
	}
	needs, ok := s.costOf(e, p)
	if !ok {
		return 0
	}
	made := m.Bytes(func(site *evidence.Site) bool { return isNumPy(site) && m.Made[site] > 0 })
	return max(0, min(made-needs.temps, m.Peak-m.Start))
}

// axisOf returns the axis along which a grid changes: meshgrid has the first two the other way round without indexing.
func (s gridding) axisOf(name string, i, all int) int {
	b := s.binds[name][0]
	assigned, ok := b.s.Node.(*syntax.Assign)
	if !ok || i > 1 || all < 2 {
		return i
	}
	if call, ok := assigned.Value.(*syntax.Call); ok {
		if c, ok := keyword(call, "indexing").(*syntax.Constant); ok && c.Value == "ij" {
			return i
		}
	}
	return 1 - i
}

// axes returns the size of a grid that holds each axis once.
func (s gridding) axes(names []string, total int64) (bytes int64) {
	for _, name := range names {
		v := s.n.Variable(name)
		if v == nil || len(v.Shape) < 2 {
			return total / 16
		}
		longest := int64(0)
		for _, d := range v.Shape {
			longest = max(longest, d)
		}
		bytes += longest * itemSize(v.DType)
	}
	return bytes
}

// insertedBefore returns the source of a call with one more argument.
func insertedBefore(call, argument string) string {
	inner := strings.TrimRight(strings.TrimSuffix(call, ")"), " \t\n")
	if strings.HasSuffix(inner, ",") {
		return inner + " " + argument + ")"
	}
	return inner + ", " + argument + ")"
}

// stretches reports whether a statement reads a grid's names only in elementwise expressions that have all of them:
// their results have the full shape with a sparse grid, too.
func (s gridding) stretches(node syntax.Node, names []string) bool {
	fine := true
	s.walk(node, func(n syntax.Node) bool {
		switch x := n.(type) {
		case *syntax.Name:
			fine = fine && !slices.Contains(names, x.ID)
		case *syntax.FunctionDef:
			if args := x.Args; s.isLocal(args, x.Body, names[0]) {
				return false
			}
		case *syntax.BinOp, *syntax.Compare, *syntax.Call:
			if e := n.(syntax.Expr); s.elementwise(e) && s.allIn(e, names) {
				fine = fine && s.onlyElementwise(e, names)
				return false
			}
		}
		return fine
	})
	return fine
}

func (s *scene) allIn(e syntax.Expr, names []string) bool {
	for _, name := range names {
		if !s.mentions(e, name) {
			return false
		}
	}
	return true
}

// elementwise reports whether an expression is an operation of NumPy on each element.
func (s gridding) elementwise(e syntax.Expr) bool {
	switch x := e.(type) {
	case *syntax.BinOp:
		return x.Op != "@"
	case *syntax.UnaryOp, *syntax.Compare:
		return true
	case *syntax.Call:
		name, call := s.call(x)
		return call != nil && (unary[name] || binary[name]) && len(call.Keywords) == 0
	}
	return false
}

// onlyElementwise reports whether names are read in nothing but elementwise operations. Parts without them may be
// anything.
func (s gridding) onlyElementwise(e syntax.Expr, names []string) bool {
	if !s.step() {
		return false
	}
	has := false
	for _, name := range names {
		has = has || s.mentions(e, name)
	}
	if !has {
		return true
	}
	if _, ok := e.(*syntax.Name); ok {
		return true
	}
	if !s.elementwise(e) {
		return false
	}
	switch x := e.(type) {
	case *syntax.BinOp:
		return s.onlyElementwise(x.Left, names) && s.onlyElementwise(x.Right, names)
	case *syntax.UnaryOp:
		return s.onlyElementwise(x.Operand, names)
	case *syntax.Compare:
		fine := s.onlyElementwise(x.Left, names)
		for _, one := range x.Comparators {
			fine = fine && s.onlyElementwise(one, names)
		}
		return fine && len(x.Ops) == 1
	case *syntax.Call:
		for _, one := range x.Args {
			if !s.onlyElementwise(one, names) {
				return false
			}
		}
		return true
	}
	return false
}
