// Package frames finds uses of pandas that take more memory than they need: functions of rows that could be computed
// with whole columns.
//
// A rule looks for a pattern in the source and for the memory that its statement has at the highest moment; either
// alone is no evidence.
package frames

import (
	"slices"
	"strings"

	"ipytracer/internal/advice/evidence"
	"ipytracer/internal/syntax"
	wording "ipytracer/internal/words"
	"ipytracer/model"
)

// pointer is the size of an element of a column of numbers, or of a pointer to a text, in bytes.
const pointer = 8

// Rules returns the rules of this package.
func Rules() []evidence.Rule { return []evidence.Rule{find} }

// find returns the candidates of all rules, in a notebook that has pandas.
func find(n *evidence.Notebook) []evidence.Candidate {
	if n.Peak == nil || n.Meter != "cpu.resident" {
		return nil
	}
	b := bookOf(n)
	if len(b.pandas) == 0 {
		return nil
	}
	return b.rows()
}

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
		rows, ok := b.rowsOf(name.ID)
		if !ok {
			return
		}
		text := columnwise(s.Cell.Window.Source, l.Body, parameter[0], name.ID)
		if _, plain := b.parents[call].(*syntax.Assign); !plain {
			text = "(" + text + ")"
		}
		edits := evidence.ReplaceNode(s.Cell, call, text)
		if edits == nil || strings.Contains(s.Cell.Window.Source, "\r") {
			return
		}
		columns, made := int64(temporaries(l.Body))*pointer*rows, by(s)
		found = append(found, evidence.Candidate{
			Kind: "apply", Cell: s.Cell, Line: call.Start.Line, Names: []string{name.ID},
			Accuracy: model.SavesGuess, Edits: edits, Title: wording.RowsByColumn(name.ID, rows),
			Changes: []string{wording.RowsChange()},
			Falls: func(m *evidence.Moment) int64 {
				if m.Statement != s {
					return 0
				}
				others := m.Allocated(func(site *evidence.Site) bool {
					return made(site) && site.Meter != "cpu.mapped" && !site.Calls("apply")
				})
				return max(0, m.Peak-m.Start-max(columns, pointer*rows+others))
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

// by returns the test whether a statement made a site's memory.
func by(s *evidence.Statement) func(*evidence.Site) bool {
	return func(site *evidence.Site) bool { return site.Statement == s && site.Cell == s.Cell }
}

// rowsOf returns the number of rows of a frame of the session's end; false if it is none, or its columns are not known.
func (b *book) rowsOf(name string) (rows int64, ok bool) {
	v := b.n.Variable(name)
	if v == nil || !strings.HasSuffix(v.Type, "DataFrame") || len(v.Columns) == 0 || len(v.Shape) != 2 {
		return 0, false
	}
	total := v.RestColumns
	for _, c := range v.Columns {
		total += c.Bytes
	}
	return v.Shape[0], v.Shape[0] > 0 && total > 0
}
