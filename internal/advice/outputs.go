package advice

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ipytracer/internal/advice/notebook"
	"ipytracer/internal/syntax"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// leastOutput is the size of memory that is worth a look, in bytes.
const leastOutput = 1 << 20

// mostOutputs is how many outputs are looked at, the largest first.
const mostOutputs = 16

// outputName matches the name of an output in a list of variables.
var outputName = regexp.MustCompile(`^Out\[([0-9]{1,9})\]$`)

// outputs finds values that IPython's history keeps, and nothing else, though a cell only shows them.
func outputs(n *notebook.Notebook) (all []notebook.Candidate) {
	looked := 0
	for i := range n.Variables {
		variable := &n.Variables[i]
		found := outputName.FindStringSubmatch(variable.Name)
		if variable.Kind != "output" || found == nil || variable.Bytes < leastOutput {
			continue
		}
		if looked++; looked > mostOutputs {
			break
		}
		number, _ := strconv.Atoi(found[1])
		if s := shownBy(n, number); s != nil && !historyIsUsed(n, s.Cell.Index, number) {
			if c, ok := output(n, variable, s, number); ok {
				all = append(all, c)
			}
		}
	}
	return all
}

// shownBy returns the last statement of the cell with a number, which is an expression; nil if it is not known.
func shownBy(n *notebook.Notebook, number int) *notebook.Statement {
	for i := len(n.Cells) - 1; i >= 0; i-- {
		cell := n.Cells[i]
		if cell.Window.ExecutionCount == nil || *cell.Window.ExecutionCount != number {
			continue
		}
		if len(cell.Statements) == 0 || cell.Tree == nil {
			return nil
		}
		statement := cell.Statements[len(cell.Statements)-1]
		if _, ok := statement.Node.(*syntax.ExprStmt); !ok || statement.Node != cell.Tree.Body[len(cell.Tree.Body)-1] {
			return nil
		}
		return statement
	}
	return nil
}

// historyIsUsed reports whether a later cell may use an output, by its number or as one of the last ones.
func historyIsUsed(n *notebook.Notebook, cell, number int) bool {
	if slices.ContainsFunc(n.Cells, func(c *notebook.Cell) bool { return c.Tree == nil }) || shadowed(n) {
		return true
	}
	for _, name := range []string{"Out", "_oh", "__", "___", "_" + strconv.Itoa(number)} {
		if isMentioned(n, cell, name) {
			return true
		}
	}
	used := false
	eachNode(n, cell, func(node syntax.Node) { // _ is often a name for what nobody uses
		switch node := node.(type) {
		case *syntax.Call:
			for _, arg := range node.Args {
				used = used || syntax.IsName(arg, "_")
			}
		case *syntax.Attribute:
			used = used || syntax.IsName(node.Value, "_")
		case *syntax.Subscript:
			used = used || syntax.IsName(node.Value, "_")
		case *syntax.BinOp:
			used = used || syntax.IsName(node.Left, "_") || syntax.IsName(node.Right, "_")
		case *syntax.Assign:
			used = used || syntax.IsName(node.Value, "_")
		case *syntax.ExprStmt:
			used = used || syntax.IsName(node.Value, "_")
		}
	})
	return used
}

// shadowed reports whether a cell gives the name display to something of its own.
func shadowed(n *notebook.Notebook) bool {
	for _, c := range n.Cells {
		if c.Tree == nil {
			continue
		}
		for _, b := range syntax.Names(c.Tree.Body...).Binds {
			if b.Name == "display" && rebinds(b) {
				return true
			}
		}
	}
	return false
}

// rebinds reports whether a name has another value then, and lets go of the one before. What is imported as display is
// IPython's.
func rebinds(b syntax.Bind) bool { return b.Kind != syntax.Augmented && b.Kind != syntax.Imported }

func output(n *notebook.Notebook, variable *model.Variable, shown *notebook.Statement, number int) (
	found notebook.Candidate, ok bool) {
	made := n.CellOf(variable.Execution)
	if made == nil {
		return found, false
	}
	maker := made.StatementAt(variable.Line)
	if maker == nil || maker.Order > shown.Order {
		return found, false
	}
	gone, ok := letGo(n, maker, shown)
	if !ok {
		return found, false
	}
	of := func(site *notebook.Site) bool { return site.Statement == maker }
	found = notebook.Candidate{Kind: "output", Cell: shown.Cell, Line: shown.Line, Names: []string{variable.Name},
		Accuracy: model.SavesBound, Edits: displayed(shown), Of: words.In(number),
		Title: words.OutputKept(number, variable.Bytes), Changes: []string{words.OutputGone(number)},
		Falls: func(moment *notebook.Moment) int64 {
			if moment.Order <= gone {
				return 0
			}
			return min(variable.Bytes, n.Resident(moment, of))
		}}
	return found, found.Edits != nil
}

// letGo returns the order of the statement with which names let go of memory that one statement made and another one
// showed; that is the latter if no name ever had it.
func letGo(n *notebook.Notebook, maker, shown *notebook.Statement) (order int, ok bool) {
	if maker == shown {
		return shown.Order, true
	}
	if maker.Node == nil {
		return 0, false
	}
	names := map[string]bool{}
	for _, b := range syntax.Names(maker.Node).Binds {
		names[b.Name] = true
	}
	for node := range syntax.All[syntax.Node](shown.Node) {
		if name, ok := node.(*syntax.Name); ok {
			names[name.ID] = true
		}
	}
	for _, s := range n.Statements {
		if len(names) == 0 {
			break
		}
		if s.Order <= shown.Order || s.Node == nil {
			continue
		}
		for _, b := range syntax.Names(s.Node).Binds {
			if names[b.Name] && rebinds(b) {
				order = s.Order
				delete(names, b.Name)
			}
		}
	}
	return order, order > 0
}

// displayed returns the edit that shows the value of an expression without keeping it; nil if there is none.
func displayed(statement *notebook.Statement) []model.AdviceEdit {
	e := statement.Node.(*syntax.ExprStmt)
	text := statement.Cell.Text(e.Value)
	if _, is := e.Value.(*syntax.Tuple); is && !strings.HasPrefix(text, "(") {
		text = "(" + text + ")"
	} else if is {
		text = "(" + text + ")" // display(a, b) would show two values
	}
	return notebook.Replace(statement.Cell, e.Value, "display("+text+")")
}

// eachNode visits the nodes of all cells from one on, in order.
func eachNode(n *notebook.Notebook, from int, visit func(syntax.Node)) {
	for _, c := range n.Cells[min(from, len(n.Cells)):] {
		if c.Tree != nil {
			for node := range syntax.All[syntax.Node](c.Tree) {
				visit(node)
			}
		}
	}
}

// isMentioned reports whether a name stands in a cell from one on: as a name, a global, or in the text of a magic.
func isMentioned(n *notebook.Notebook, from int, name string) (found bool) {
	eachNode(n, from, func(node syntax.Node) {
		switch node := node.(type) {
		case *syntax.Name:
			found = found || node.ID == name
		case *syntax.Global:
			found = found || slices.Contains(node.Names, name)
		case *syntax.Magic:
			found = found || strings.Contains(node.Text, name)
		case *syntax.Shell:
			found = found || strings.Contains(node.Text, name)
		}
	})
	return found
}
