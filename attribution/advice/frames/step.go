package frames

import (
	"slices"

	"ipytracer/attribution/advice/evidence"
	"ipytracer/attribution/syntax"
)

// step is one operation on a frame, or on its groups.
type step struct {
	u     *usage
	s     *evidence.Statement
	at    syntax.Expr // has the frame
	group bool        // it has groups of its rows
}

// all notes that every column may be used.
func (x *step) all() syntax.Expr {
	x.u.whole = true
	return nil
}

// look notes an operation on all columns. It changes nothing but what is shown if its result goes nowhere else.
func (x *step) look(node syntax.Expr) syntax.Expr {
	at := syntax.Node(node)
	for range maxSteps {
		switch p := x.u.b.parents[at].(type) {
		case *syntax.Attribute:
			at = p
		case *syntax.Call:
			if syntax.Node(p.Func) != at && !isName(p.Func, "print") && !isName(p.Func, "display") {
				return x.all()
			}
			at = p
		case *syntax.ExprStmt:
			x.u.shown = append(x.u.shown, x.s)
			return nil
		default:
			return x.all()
		}
	}
	return x.all()
}

// index goes through frame[…]; it returns the expression that has the frame then, nil for none.
func (x *step) index(p *syntax.Subscript) syntax.Expr {
	if p.Value != x.at {
		return x.all()
	}
	if columns, ok := x.u.b.columnsOf(p.Slice); ok {
		assign, _ := x.u.b.parents[p].(*syntax.Assign)
		switch {
		case assign != nil && x.u.b.isTarget(p):
			for _, c := range columns {
				x.u.store(c, x.s)
			}
		default:
			x.u.use(columns, read{at: x.s, node: p})
		}
		return nil
	}
	if x.group || x.u.b.isTarget(p) || !x.u.b.isRows(p.Slice) {
		return x.all()
	}
	x.u.copies[x.s] = true
	return p
}

// columnsOf returns the columns that an index names: constants, or a name that always has a list of constants.
func (b *book) columnsOf(e syntax.Expr) ([]string, bool) {
	if n, ok := e.(*syntax.Name); ok {
		var all []string
		for _, value := range b.values(n.ID) {
			columns, ok := texts(value)
			if !ok {
				return nil, false
			}
			all = append(all, columns...)
		}
		return all, len(all) > 0
	}
	return texts(e)
}

// values returns what assignments give a name; nil if it is bound in another way, too.
func (b *book) values(name string) (all []syntax.Expr) {
	for _, c := range b.n.Cells {
		if c.Tree == nil {
			return nil
		}
		other := false
		syntax.Walk(c.Tree, func(node syntax.Node) bool {
			if s, ok := node.(syntax.Stmt); ok {
				if id, value := assigned(s); id == name {
					all = append(all, value)
					return true
				}
			}
			switch n := node.(type) {
			case *syntax.Name:
				if n.ID == name && b.isTarget(n) {
					_, single := b.parents[n].(*syntax.Assign)
					other = other || !single
				}
			case *syntax.AugAssign:
				other = other || isName(n.Target, name)
			}
			return true
		})
		if other {
			return nil
		}
	}
	return all
}

// isRows reports whether an index chooses rows: a slice, or a condition.
func (b *book) isRows(e syntax.Expr) bool {
	switch n := e.(type) {
	case *syntax.Slice, *syntax.Compare:
		return true
	case *syntax.UnaryOp:
		return n.Op == "~" && b.isRows(n.Operand)
	case *syntax.BinOp:
		return slices.Contains([]string{"&", "|", "^"}, n.Op) && (b.isRows(n.Left) || b.isRows(n.Right))
	case *syntax.Call:
		name, _, _ := b.method(n)
		return slices.Contains(conditions, name)
	case *syntax.Name:
		values := b.values(n.ID)
		return len(values) > 0 && !slices.ContainsFunc(values, func(v syntax.Expr) bool {
			_, again := v.(*syntax.Name)
			return again || !b.isRows(v)
		})
	}
	return false
}

// conditions are methods of columns that return one truth value for each row.
var conditions = []string{"isin", "between", "isna", "isnull", "notna", "notnull", "contains", "startswith", "endswith",
	"duplicated", "eq", "ne", "lt", "le", "gt", "ge", "match", "fullmatch"}

// attribute goes through frame.name and frame.name(…).
func (x *step) attribute(p *syntax.Attribute) syntax.Expr {
	if call, ok := x.u.b.parents[p].(*syntax.Call); ok && call.Func == syntax.Expr(p) {
		if spread(call) {
			return x.all()
		}
		if x.group {
			return x.ofGroups(p.Attr, call)
		}
		return x.method(p.Attr, call)
	}
	sub, _ := x.u.b.parents[p].(*syntax.Subscript)
	switch {
	case p.Attr == "loc" && sub != nil && sub.Value == syntax.Expr(p):
		return x.loc(sub)
	case p.Attr == "iloc" && sub != nil && sub.Value == syntax.Expr(p):
		if _, two := sub.Slice.(*syntax.Tuple); two || x.u.b.isTarget(sub) {
			return x.all()
		}
		x.u.copies[x.s] = true
		return sub
	case p.Attr == "shape" && sub != nil:
		if c, ok := sub.Slice.(*syntax.Constant); ok && c.Text == "0" {
			return nil
		}
		return x.look(sub)
	case p.Attr == "index" || p.Attr == "empty":
		return nil
	case slices.Contains(looks, p.Attr):
		return x.look(p)
	case slices.Contains(attributes, p.Attr) || x.group || x.u.b.isTarget(p):
		return x.all()
	}
	x.u.use([]string{p.Attr}, read{at: x.s, node: p})
	return nil
}

// looks are attributes and methods of frames that describe all columns.
var looks = []string{"shape", "columns", "dtypes", "size", "info", "memory_usage"}

// attributes are other attributes of frames that are no columns, as far as they are not methods.
var attributes = []string{"T", "values", "axes", "ndim", "style", "attrs", "flags", "loc", "iloc", "at", "iat", "plot",
	"sparse"}

// loc goes through frame.loc[…].
func (x *step) loc(sub *syntax.Subscript) syntax.Expr {
	rows := sub.Slice
	if pair, ok := rows.(*syntax.Tuple); ok {
		if len(pair.Elts) != 2 {
			return x.all()
		}
		if columns, ok := x.u.b.columnsOf(pair.Elts[1]); ok && !x.u.b.isTarget(sub) {
			x.u.use(columns, read{at: x.s, node: sub})
			return nil
		}
		return x.all()
	}
	if !x.u.b.isRows(rows) || x.u.b.isTarget(sub) {
		return x.all()
	}
	x.u.copies[x.s] = true
	return sub
}
