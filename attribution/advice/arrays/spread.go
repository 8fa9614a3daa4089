package arrays

import (
	"strings"

	"ipytracer/attribution/syntax"
)

// spread is a reduction of an expression over all pairs of the rows of two arrays: one array has a new axis behind its
// rows, the other in front of them, and the last axis is summed up.
type spread struct {
	*finder
	p *place
	// whole is the reduction, with a root around it; call is the reduction, and of is its array.
	whole syntax.Expr
	call  *syntax.Call
	of    syntax.Expr
	name  string // of the reduction: sum, mean, max, min, norm
	root  bool
	// x and y are the two arrays: their code and what is known about them.
	x, y    *side
	leaves  map[syntax.Expr]*side
	chain   []*link // names of intermediate arrays, the last one first
	bySciPy bool    // SciPy's function computes it
}

// side is one of the arrays.
type side struct {
	first bool // its rows are the first axis of the result
	plane bool // the code shows that it has two axes
	text  string
	node  syntax.Expr
	value value
}

// lastAxis are the reductions along an axis that are looked at.
var lastAxis = set("sum", "mean", "max", "min", "linalg.norm")

// spreadIn returns the reduction over pairs in a statement; nil if there is none, or if there are several.
func (s *finder) spreadIn(p *place) *spread {
	t := &spread{finder: s, p: p, leaves: map[syntax.Expr]*side{}}
	switch p.node.(type) {
	case *syntax.Assign, *syntax.AugAssign, *syntax.ExprStmt, *syntax.Return:
	default:
		return nil
	}
	call := s.only(p.node, func(x *syntax.Call) bool { return t.reduces(x) })
	if call == nil || !t.reduces(call) {
		return nil
	}
	t.whole = call
	s.walk(p.node, func(node syntax.Node) bool {
		switch x := node.(type) {
		case *syntax.Lambda, *syntax.Comp, *syntax.IfExp, *syntax.BoolOp:
			return false
		case *syntax.Call:
			if x == call {
				t.call = x
			}
			if len(x.Args) == 1 && x.Args[0] == syntax.Expr(call) && s.numpy(x.Func) == "sqrt" && len(x.Keywords) == 0 {
				t.whole, t.root = x, true
			}
		}
		return true
	})
	if t.call == nil || !t.read(t.of, p.at(), maxInference) || t.x == nil || t.y == nil {
		return nil
	}
	if !t.deduced() {
		return nil
	}
	x, y := t.x.value, t.y.value
	if !x.isFloat() || x.dtype != y.dtype || x.shape[1] != y.shape[1] || !t.stays() {
		return nil
	}
	return t
}

// reduces reports whether a call is a reduction of a three-dimensional array along its last axis.
func (t *spread) reduces(x *syntax.Call) bool {
	name, args := t.numpy(x.Func), x.Args
	var of syntax.Expr
	if name != "" && len(args) > 0 {
		of, args = args[0], args[1:]
	} else {
		of, name, _ = t.method(x)
	}
	axis := keyword(x, "axis")
	if axis == nil && len(args) == 1 && len(x.Keywords) == 0 && name != "linalg.norm" {
		axis = args[0]
	} else if len(args) > 0 || len(x.Keywords) != 1 {
		return false
	}
	if of == nil || !lastAxis[name] || !isAxis(axis, "2") && !isLast(axis) {
		return false
	}
	t.of, t.name = of, name
	return true
}

// isAxis reports whether an expression is a number.
func isAxis(e syntax.Expr, number string) bool {
	c, ok := e.(*syntax.Constant)
	return ok && c.Text == number
}

// isLast reports whether an expression is -1.
func isLast(e syntax.Expr) bool {
	u, ok := e.(*syntax.UnaryOp)
	return ok && u.Op == "-" && isAxis(u.Operand, "1")
}

// read goes through an elementwise expression, and finds the two arrays in it.
func (t *spread) read(e syntax.Expr, p at, depth int) bool {
	if depth == 0 || !t.step() {
		return false
	}
	switch x := e.(type) {
	case *syntax.Constant:
		return x.Kind == "int" || x.Kind == "float"
	case *syntax.UnaryOp:
		return x.Op == "-" && t.read(x.Operand, p, depth-1)
	case *syntax.BinOp:
		return strings.Contains("+-*/**", x.Op) && t.read(x.Left, p, depth-1) && t.read(x.Right, p, depth-1)
	case *syntax.Call:
		if name := t.numpy(x.Func); (unary[name] || t.full(x.Func) == "builtins.abs") && len(x.Args) == 1 {
			return len(x.Keywords) == 0 && t.read(x.Args[0], p, depth-1)
		}
		return false
	case *syntax.Subscript:
		first, ok := lifted(x.Slice, func(e syntax.Expr) bool { return t.numpy(e) == "newaxis" })
		axes, isTuple := x.Slice.(*syntax.Tuple)
		return ok && t.leaf(e, &side{first: first, node: x.Value, plane: isTuple && len(axes.Elts) == 3}, p)
	case *syntax.Name, *syntax.Attribute:
		v := t.finder.of(e, p)
		name, isName := e.(*syntax.Name)
		switch {
		case len(v.shape) == 2:
			return t.leaf(e, &side{node: e}, p)
		case v.sort == scalar: // it must be the same where the last statement runs
			return len(t.chain) == 0 || isName && p.in == nil && len(t.binds[name.ID]) == 1
		case isName:
			if l := t.bound(name.ID, p); l != nil && len(t.chain) < maxLinks && t.onlyShape(l) {
				return t.link(l, name, p, depth)
			}
			return t.leaf(e, &side{node: e}, p)
		}
	}
	return false
}

// lifted reports whether an index adds one axis, and whether it is behind that of the rows: x[:, None], x[None, :, :].
func lifted(index syntax.Expr, isNew func(syntax.Expr) bool) (first, ok bool) {
	parts := []syntax.Expr{index}
	if tuple, ok := index.(*syntax.Tuple); ok {
		parts = tuple.Elts
	}
	added := -1
	for i, part := range parts {
		c, isConstant := part.(*syntax.Constant)
		s, isSlice := part.(*syntax.Slice)
		switch {
		case isConstant && c.Kind == "None" || isNew(part):
			if added >= 0 {
				return false, false
			}
			added = i
		case !isSlice || s.Lower != nil || s.Upper != nil || s.Step != nil:
			return false, false
		}
	}
	return added == 1, (added == 0 || added == 1) && len(parts) <= 3
}

// leaf notes one of the two arrays.
func (t *spread) leaf(e syntax.Expr, one *side, p at) bool {
	one.value = t.finder.of(one.node, p)
	cell := t.p.cell
	if len(t.chain) > 0 {
		cell = t.chain[len(t.chain)-1].cell
	}
	if !isPath(one.node) || one.value.shape != nil && (one.value.sort != array || len(one.value.shape) != 2) {
		return false
	}
	if name, ok := one.node.(*syntax.Name); ok && one.value.shape == nil && !one.plane {
		if v := t.n.Variable(name.ID); v == nil || p.in != nil || !isArray(v) || len(v.Shape) != 2 {
			return false
		}
	}
	one.text = cell.Text(one.node)
	place := &t.y
	if one.first {
		place = &t.x
	}
	if *place == nil {
		*place = one
	}
	t.leaves[e] = one
	return (*place).text == one.text
}

func isNamed(node syntax.Node, name string) bool {
	n, ok := node.(*syntax.Name)
	return ok && n.ID == name
}

// deduced reports whether the shapes of both arrays are known. That of one, which is bound again and again, may follow
// from the other one and the sizes of the arrays that were made.
func (t *spread) deduced() bool {
	known, other := t.x, t.y
	if known.value.shape == nil {
		known, other = other, known
	}
	if known.value.shape == nil || other.value.shape != nil {
		return known.value.shape != nil && other.value.shape != nil
	}
	columns, rows := known.value.shape[1], t.rows(known.value)
	if rows == 0 || known.value.dtype != "float64" {
		return false
	}
	other.value = value{sort: array, dtype: "float64", shape: []int64{rows, columns}}
	return true
}

// rows returns the number of rows of an array whose distances from another one were computed: one of the arrays that
// were made holds these, and all that lived hold the differences once or a few times.
func (t *spread) rows(known value) (least int64) {
	column := known.shape[0] * itemSize(known.dtype)
	for _, site := range t.p.sites {
		count := t.p.moment.Count[site]
		if count == 0 || column == 0 {
			continue
		}
		made := t.p.moment.Made[site]
		rows := made / count / column
		if rows < 2 || made != rows*column*count || least > 0 && rows >= least {
			continue
		}
		if all := rows * column * known.shape[1]; t.p.live >= all && t.p.live <= 5*all {
			least = rows
		}
	}
	return least
}
