package frames

import (
	"slices"

	"ipytracer/attribution/advice/evidence"
	"ipytracer/attribution/syntax"
	"ipytracer/model"
	wording "ipytracer/model/words"
)

// rows finds functions of rows that could be computed with whole columns.
//
// The rule: frame.apply(lambda row: …, axis=1), where the lambda computes with columns and numbers only.
func (b *book) rows() (found []evidence.Candidate) {
	b.calls("apply", func(s *evidence.Statement, object syntax.Expr, call *syntax.Call) {
		name, ok := object.(*syntax.Name)
		l, lambda := argument(call, 0, "func").(*syntax.Lambda)
		if !ok || !lambda || !acrossRows(call) || len(call.Args)+len(call.Keywords) != 2 {
			return
		}
		parameter := parameters(l.Args)
		if len(parameter) != 1 || !arithmetic(l.Body, parameter[0]) {
			return
		}
		f, ok := b.frameOf(name.ID)
		if !ok {
			return
		}
		text := columnwise(s.Cell.Window.Source, l.Body, parameter[0], name.ID)
		if _, plain := b.parents[call].(*syntax.Assign); !plain {
			text = "(" + text + ")"
		}
		edits, ok := rewrite(s.Cell, instead(call, text))
		if !ok {
			return
		}
		columns, made := int64(temporaries(l.Body))*pointer*f.rows, by(s)
		found = append(found, evidence.Candidate{
			Kind: "apply", Cell: s.Cell, Line: call.Start.Line, Names: []string{name.ID},
			Accuracy: model.SavesGuess, Edits: edits, Title: wording.RowsByColumn(name.ID, f.rows),
			Changes: []string{wording.RowsChange()},
			Falls: func(m *evidence.Moment) int64 {
				if m.Statement != s {
					return 0
				}
				others := m.Allocated(func(site *evidence.Site) bool {
					return made(site) && site.Meter != "cpu.mapped" && !site.Calls("apply")
				})
				return max(0, m.Peak-m.Start-max(columns, pointer*f.rows+others))
			},
		})
	})
	return found
}

// calls goes through the calls of a method in all statements, but not in functions.
func (b *book) calls(method string, visit func(*evidence.Statement, syntax.Expr, *syntax.Call)) {
	for _, s := range b.n.Statements {
		if s.Node == nil || s.Moment == nil {
			continue
		}
		syntax.Walk(s.Node, func(node syntax.Node) bool {
			if e, ok := node.(syntax.Expr); ok {
				if name, object, call := b.method(e); name == method {
					visit(s, object, call)
				}
			}
			_, function := node.(*syntax.FunctionDef)
			return !function
		})
	}
}

// acrossRows reports whether a call has axis=1.
func acrossRows(call *syntax.Call) bool {
	c, ok := keyword(call, "axis").(*syntax.Constant)
	return ok && (c.Text == "1" || c.Value == "columns")
}

// arithmetic reports whether an expression has only columns of a row, numbers, and + − * /, with a column at least.
func arithmetic(e syntax.Expr, row string) bool {
	columns := 0
	ok := true
	syntax.Walk(e, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.BinOp:
			ok = ok && slices.Contains([]string{"+", "-", "*", "/"}, n.Op)
		case *syntax.Constant:
			ok = ok && (n.Kind == "int" || n.Kind == "float")
		case *syntax.Subscript:
			_, constant := text(n.Slice)
			ok = ok && isName(n.Value, row) && constant
			columns++
			return false
		default:
			ok = false
		}
		return ok
	})
	return ok && columns > 0
}

// temporaries returns how many results of operations live at once while an expression of columns is computed.
func temporaries(e syntax.Expr) int {
	o, ok := e.(*syntax.BinOp)
	if !ok {
		return 0 // a column of the frame, or a number
	}
	left, right := min(1, temporaries(o.Left)), min(1, temporaries(o.Right))
	return max(temporaries(o.Left), left+temporaries(o.Right), left+right+1)
}

// columnwise returns the source of an expression with a frame in the place of a row.
func columnwise(source string, e syntax.Expr, row, frame string) string {
	text, at := "", e.Place().Start.Offset
	syntax.Walk(e, func(node syntax.Node) bool {
		if n, ok := node.(*syntax.Name); ok && n.ID == row {
			text += source[at:n.Start.Offset] + frame
			at = n.End.Offset
		}
		return true
	})
	return text + source[at:e.Place().End.Offset]
}

// groups finds functions of groups that are methods of groups.
//
// The rule: frame.groupby(…).apply(lambda group: group["column"].sum()), or mean, min, max, count, median.
func (b *book) groups() (found []evidence.Candidate) {
	b.calls("apply", func(s *evidence.Statement, object syntax.Expr, call *syntax.Call) {
		method, frame, grouped := b.method(object)
		name, ok := frame.(*syntax.Name)
		if method != "groupby" || !ok || len(call.Args) != 1 || len(call.Keywords) > 0 || spread(grouped) {
			return
		}
		if _, ok := b.columnsOf(argument(grouped, 0, "by")); !ok || len(grouped.Args)+len(grouped.Keywords) != 1 {
			return
		}
		column, aggregate, ok := b.aggregateOf(call.Args[0])
		q, quotable := quoted(s.Cell, column)
		if !ok || !quotable {
			return
		}
		from := object.Place().End.Offset
		edits, ok := rewrite(s.Cell, change{from, call.End.Offset, "[" + q + "]." + aggregate + "().rename(None)"})
		if !ok {
			return
		}
		made, joined := by(s), b.isJoined(name.ID, s)
		found = append(found, evidence.Candidate{
			Kind: "group-apply", Cell: s.Cell, Line: call.Start.Line, Names: []string{name.ID, column},
			Accuracy: model.SavesBound, Edits: edits, Title: wording.GroupsByMethod(name.ID, column, aggregate),
			Changes: []string{wording.GroupsChange()},
			Falls: func(m *evidence.Moment) int64 {
				if m.Statement != s {
					return 0
				}
				copied := m.Bytes(func(site *evidence.Site) bool {
					return made(site) && inManagers(site) && !(joined && site.Calls("_consolidate_inplace"))
				})
				return max(0, copied-b.columnBytes(name.ID)) // the method takes one column
			},
		})
	})
	return found
}

// isJoined reports whether a later statement may join the blocks of a frame, if an earlier one did not: any operation
// but the use of one column and sums of all.
func (b *book) isJoined(name string, from *evidence.Statement) (joined bool) {
	for _, s := range b.n.Statements {
		if s.Order <= from.Order {
			continue
		}
		if s.Node == nil {
			return true
		}
		syntax.Walk(s.Node, func(node syntax.Node) bool {
			if n, ok := node.(*syntax.Name); ok && n.ID == name {
				joined = joined || !b.leavesBlocks(n)
			}
			return !joined
		})
	}
	return joined
}

// leavesBlocks reports whether a use of a frame leaves its blocks as they are.
func (b *book) leavesBlocks(n *syntax.Name) bool {
	switch p := b.parents[n].(type) {
	case *syntax.Subscript:
		_, column := text(p.Slice)
		return column
	case *syntax.Attribute:
		return slices.Contains(summaries, p.Attr) || slices.Contains(bytewise, p.Attr)
	case *syntax.Delete:
		return true
	}
	return false
}

// columnBytes returns the size of a column of numbers of a frame; 0 if the frame is gone.
func (b *book) columnBytes(name string) int64 {
	f, _ := b.frameOf(name)
	return pointer * f.rows
}

// aggregateOf returns the column and the method of lambda group: group["column"].method().
func (b *book) aggregateOf(e syntax.Expr) (column, method string, ok bool) {
	l, ok := e.(*syntax.Lambda)
	if !ok || len(parameters(l.Args)) != 1 {
		return "", "", false
	}
	method, object, call := b.method(l.Body)
	sub, ok := object.(*syntax.Subscript)
	if !ok || len(call.Args)+len(call.Keywords) > 0 || !isName(sub.Value, parameters(l.Args)[0]) ||
		!slices.Contains([]string{"sum", "mean", "min", "max", "count", "median", "std", "var"}, method) {
		return "", "", false
	}
	column, ok = text(sub.Slice)
	return column, method, ok
}
