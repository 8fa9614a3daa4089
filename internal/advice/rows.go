package advice

import (
	"slices"
	"strings"

	"ipytracer/internal/advice/notebook"
	"ipytracer/internal/syntax"
	wording "ipytracer/internal/words"
	"ipytracer/model"
)

// elementSize is the size of an element of a column, in bytes: a number, or a pointer to a string.
const elementSize = 8

// rowFunctions finds calls that pass a function each row of a pandas frame, where whole columns would do.
//
// The rule: frame.apply(lambda row: …, axis=1), where the lambda computes with columns and numbers only.
func rowFunctions(n *notebook.Notebook) (found []notebook.Candidate) {
	if n.Peak == nil || n.Meter != "cpu.resident" || !hasPandas(n) {
		return nil
	}
	eachApply(n, func(statement *notebook.Statement, object syntax.Expr, call *syntax.Call, isAssigned bool) {
		name, isName := object.(*syntax.Name)
		lambda, isLambda := firstArgument(call, "func").(*syntax.Lambda)
		if !isName || !isLambda || !acrossRows(call) || len(call.Args)+len(call.Keywords) != 2 {
			return
		}
		parameters := lambda.Args.All()
		if len(parameters) != 1 || lambda.Args.VarArg != nil || lambda.Args.KwArg != nil ||
			!isArithmetic(lambda.Body, parameters[0].Name) {
			return
		}
		rows, ok := rowsOf(n, name.ID)
		if !ok {
			return
		}
		text := columnwise(statement.Cell.Window.Source, lambda.Body, parameters[0].Name, name.ID)
		if !isAssigned {
			text = "(" + text + ")"
		}
		edits := notebook.Replace(statement.Cell, call, text)
		if edits == nil || strings.Contains(statement.Cell.Window.Source, "\r") {
			return
		}
		temporaryBytes, made := int64(temporaries(lambda.Body))*elementSize*rows, madeBy(statement)
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
				rise := moment.Peak - moment.Start
				riseByColumns := max(temporaryBytes, elementSize*rows+others)
				return max(0, rise-riseByColumns)
			},
		})
	})
	return found
}

// eachApply visits the calls of a method apply in all statements that ran, but not in functions. isAssigned says that
// the call is the whole right side of an assignment.
func eachApply(n *notebook.Notebook,
	visit func(s *notebook.Statement, object syntax.Expr, call *syntax.Call, isAssigned bool)) {
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

// hasPandas reports whether a cell has a statement import pandas.
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

// isArithmetic reports whether an expression consists of columns of a row, numbers, and + - * /, with at least one
// column.
func isArithmetic(expr syntax.Expr, row string) bool {
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
	operation, ok := expr.(*syntax.BinOp)
	if !ok {
		return 0 // a column of the frame, or a number
	}
	duringLeft, duringRight := temporaries(operation.Left), temporaries(operation.Right)
	left, right := min(1, duringLeft), min(1, duringRight) // an operand that is a result lives until it is used
	return max(duringLeft, left+duringRight, left+right+1)
}

// columnwise returns the source of an expression, with the name of the frame in place of the name of the row.
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

// madeBy returns a test whether a site allocates in a statement.
func madeBy(s *notebook.Statement) func(*notebook.Site) bool {
	return func(site *notebook.Site) bool { return site.Statement == s && site.Cell == s.Cell }
}

// rowsOf returns the number of rows of a frame at the session's end. ok is false if the name has no frame then, or if
// the sizes of its columns are not known.
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

// firstArgument returns the first argument of a call, given by position or by keyword; nil if there is none.
func firstArgument(call *syntax.Call, name string) syntax.Expr {
	if len(call.Args) > 0 {
		return call.Args[0]
	}
	return call.Keyword(name)
}
