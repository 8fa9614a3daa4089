package advice

import (
	"slices"
	"strings"

	"ipytracer/internal/advice/notebook"
	"ipytracer/internal/syntax"
	wording "ipytracer/internal/words"
	"ipytracer/model"
)

// pointer is the size of an element of a column of numbers, or of a pointer to a text, in bytes.
const pointer = 8

// rowFunctions finds functions of rows that could be computed with whole columns, in a notebook that has pandas.
//
// The rule: frame.apply(lambda row: …, axis=1), where the lambda computes with columns and numbers only.
func rowFunctions(n *notebook.Notebook) (found []notebook.Candidate) {
	if n.Peak == nil || n.Meter != "cpu.resident" || !hasPandas(n) {
		return nil
	}
	applies(n, func(statement *notebook.Statement, object syntax.Expr, call *syntax.Call, whole bool) {
		name, ok := object.(*syntax.Name)
		l, lambda := firstArgument(call, "func").(*syntax.Lambda)
		if !ok || !lambda || !acrossRows(call) || len(call.Args)+len(call.Keywords) != 2 {
			return
		}
		parameters := l.Args.All()
		if len(parameters) != 1 || l.Args.VarArg != nil || l.Args.KwArg != nil ||
			!arithmetic(l.Body, parameters[0].Name) {
			return
		}
		rows, ok := rowsOf(n, name.ID)
		if !ok {
			return
		}
		text := columnwise(statement.Cell.Window.Source, l.Body, parameters[0].Name, name.ID)
		if !whole {
			text = "(" + text + ")"
		}
		edits := notebook.Replace(statement.Cell, call, text)
		if edits == nil || strings.Contains(statement.Cell.Window.Source, "\r") {
			return
		}
		columns, made := int64(temporaries(l.Body))*pointer*rows, madeBy(statement)
		found = append(found, notebook.Candidate{
			Kind: "apply", Cell: statement.Cell, Line: call.Start.Line, Names: []string{name.ID},
			Accuracy: model.SavesGuess, Edits: edits, Title: wording.RowsByColumn(name.ID, rows),
			Changes: []string{wording.RowsChange()},
			Falls: func(moment *notebook.Moment) int64 {
				if moment.Statement != statement {
					return 0
				}
				others := moment.Allocated(func(site *notebook.Site) bool {
					return made(site) && site.Meter != "cpu.mapped" && !site.Calls("", "apply")
				})
				return max(0, moment.Peak-moment.Start-max(columns, pointer*rows+others))
			},
		})
	})
	return found
}

// applies goes through the calls of a method apply in all statements, but not in functions. whole: the call is all that
// an assignment has on its right side.
func applies(n *notebook.Notebook,
	visit func(s *notebook.Statement, object syntax.Expr, call *syntax.Call, whole bool)) {
	for _, s := range n.Statements {
		if s.Node == nil || s.Moment == nil {
			continue
		}
		var value syntax.Expr // of the last assignment
		syntax.Walk(s.Node, func(node syntax.Node) bool {
			switch x := node.(type) {
			case *syntax.FunctionDef:
				return false
			case *syntax.Assign:
				value = x.Value
			case *syntax.Call:
				if f, ok := x.Func.(*syntax.Attribute); ok && f.Attr == "apply" {
					visit(s, f.Value, x, value == syntax.Expr(x))
				}
			}
			return true
		})
	}
}

// hasPandas reports whether a cell imports pandas by a name.
func hasPandas(n *notebook.Notebook) (found bool) {
	for _, c := range n.Cells {
		if c.Tree != nil {
			syntax.Walk(c.Tree, func(node syntax.Node) bool {
				if i, ok := node.(*syntax.Import); ok {
					for _, a := range i.Names {
						found = found || a.Name == "pandas"
					}
				}
				return !found
			})
		}
	}
	return found
}

// acrossRows reports whether a call has axis=1.
func acrossRows(call *syntax.Call) bool {
	c, ok := call.Keyword("axis").(*syntax.Constant)
	return ok && (c.Text == "1" || c.Value == "columns")
}

// arithmetic reports whether an expression has only columns of a row, numbers, and + − * /, with a column at least.
func arithmetic(expr syntax.Expr, row string) bool {
	columns := 0
	ok := true
	syntax.Walk(expr, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.BinOp:
			ok = ok && slices.Contains([]string{"+", "-", "*", "/"}, n.Op)
		case *syntax.Constant:
			ok = ok && (n.Kind == "int" || n.Kind == "float")
		case *syntax.Subscript:
			column, constant := n.Slice.(*syntax.Constant)
			ok = ok && syntax.IsName(n.Value, row) && constant && column.Kind == "str"
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
func temporaries(expr syntax.Expr) int {
	o, ok := expr.(*syntax.BinOp)
	if !ok {
		return 0 // a column of the frame, or a number
	}
	left, right := min(1, temporaries(o.Left)), min(1, temporaries(o.Right))
	return max(temporaries(o.Left), left+temporaries(o.Right), left+right+1)
}

// columnwise returns the source of an expression with a frame in the place of a row.
func columnwise(source string, expr syntax.Expr, row, frame string) string {
	text, at := "", expr.Place().Start.Offset
	syntax.Walk(expr, func(node syntax.Node) bool {
		if n, ok := node.(*syntax.Name); ok && n.ID == row {
			text += source[at:n.Start.Offset] + frame
			at = n.End.Offset
		}
		return true
	})
	return text + source[at:expr.Place().End.Offset]
}

// madeBy returns the test whether a statement made a site's memory.
func madeBy(s *notebook.Statement) func(*notebook.Site) bool {
	return func(site *notebook.Site) bool { return site.Statement == s && site.Cell == s.Cell }
}

// rowsOf returns the number of rows of a frame of the session's end; false if it is none, or its columns are not known.
func rowsOf(n *notebook.Notebook, name string) (rows int64, ok bool) {
	variable := n.Variable(name)
	if variable == nil || !strings.HasSuffix(variable.Type, "DataFrame") || len(variable.Columns) == 0 ||
		len(variable.Shape) != 2 {
		return 0, false
	}
	total := variable.RestColumns
	for _, c := range variable.Columns {
		total += c.Bytes
	}
	return variable.Shape[0], variable.Shape[0] > 0 && total > 0
}

// firstArgument returns the first argument of a call, given by its place or its name; nil if there is none.
func firstArgument(call *syntax.Call, name string) syntax.Expr {
	if len(call.Args) > 0 {
		return call.Args[0]
	}
	return call.Keyword(name)
}
