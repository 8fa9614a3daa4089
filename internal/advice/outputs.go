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

const (
	leastOutput = 1 << 20 // bytes of the smallest output that is judged
	maxOutputs  = 16      // outputs that are judged, the largest first
)

// outputName matches the name of an output in a list of variables.
var outputName = regexp.MustCompile(`^Out\[([0-9]{1,9})\]$`)

// outputs finds values that only IPython's history of outputs keeps: a cell's last expression showed the value.
func outputs(n *notebook.Notebook) (all []notebook.Candidate) {
	judged := 0
	for i := range n.Variables {
		variable := &n.Variables[i]
		found := outputName.FindStringSubmatch(variable.Name)
		if variable.Kind != "output" || found == nil || variable.Bytes < leastOutput {
			continue
		}
		if judged++; judged > maxOutputs {
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

// shownBy returns the expression at the end of In[number], of its last run; nil if there is none.
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

// historyIsUsed reports whether a cell from index cell on may use Out[number], by its number or by _, __ and ___.
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
	eachNode(n, cell, func(node syntax.Node) { // only reads of _ count: many notebooks assign unused values to it
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

// shadowed reports whether a cell binds the name display to something other than IPython's function.
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

// rebinds reports whether a binding gives a name another value. An augmented assignment may keep the value. An import
// of display binds IPython's function again.
func rebinds(b syntax.Bind) bool { return b.Kind != syntax.Augmented && b.Kind != syntax.Imported }

// output returns the candidate about Out[number], whose value is variable. The statement shown showed it.
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
	released, ok := releasedAt(n, maker, shown)
	if !ok {
		return found, false
	}
	ofValue := func(site *notebook.Site) bool { return site.Statement == maker }
	found = notebook.Candidate{Kind: "output", Cell: shown.Cell, Line: shown.Line, Names: []string{variable.Name},
		Accuracy: model.SavesBound, Edits: displayed(shown), Memory: words.In(number),
		Title: words.OutputKept(number, variable.Bytes), Changes: []string{words.OutputGone(number)},
		Falls: func(moment *notebook.Moment) int64 {
			if moment.Order <= released {
				return 0
			}
			return min(variable.Bytes, n.Resident(moment, ofValue))
		}}
	return found, found.Edits != nil
}

// releasedAt returns the order of the last statement that rebinds a name of a value, which the statement maker made and
// the statement shown showed. If shown made the value itself, no name ever had it: releasedAt returns shown's order. ok
// is false where no statement rebinds a name.
func releasedAt(n *notebook.Notebook, maker, shown *notebook.Statement) (order int, ok bool) {
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

// displayed returns the edit that puts display() around an expression, so that IPython shows the value without keeping
// it; nil if there is none.
func displayed(statement *notebook.Statement) []model.AdviceEdit {
	e := statement.Node.(*syntax.ExprStmt)
	text := statement.Cell.Text(e.Value)
	if _, isTuple := e.Value.(*syntax.Tuple); isTuple {
		text = "(" + text + ")" // display(a, b) would show two values
	}
	return notebook.Replace(statement.Cell, e.Value, "display("+text+")")
}

// eachNode visits the nodes of all cells from index from on, in order.
func eachNode(n *notebook.Notebook, from int, visit func(syntax.Node)) {
	for _, c := range n.Cells[min(from, len(n.Cells)):] {
		if c.Tree != nil {
			for node := range syntax.All[syntax.Node](c.Tree) {
				visit(node)
			}
		}
	}
}

// isMentioned reports whether a cell from index from on mentions a name: as a name, in a global statement, or in the
// text of a magic.
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
