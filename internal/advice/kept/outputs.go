// Package kept finds memory that something other than a plain variable keeps: IPython's history of outputs.
package kept

import (
	"regexp"
	"strconv"
	"strings"

	"ipytracer/internal/advice/evidence"
	"ipytracer/internal/syntax"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// least is the size of memory that is worth a look, in bytes.
const least = 1 << 20

// most is how many outputs are looked at, the largest first.
const most = 16

// Rules returns the rules of this package.
func Rules() []evidence.Rule { return []evidence.Rule{outputs} }

// outputName matches the name of an output in a list of variables.
var outputName = regexp.MustCompile(`^Out\[([0-9]{1,9})\]$`)

// outputs finds values that IPython's history keeps, and nothing else, though a cell only shows them.
func outputs(n *evidence.Notebook) (all []evidence.Candidate) {
	looked := 0
	for i := range n.Variables {
		v := &n.Variables[i]
		found := outputName.FindStringSubmatch(v.Name)
		if v.Kind != "output" || found == nil || v.Bytes < least {
			continue
		}
		if looked++; looked > most {
			break
		}
		number, _ := strconv.Atoi(found[1])
		if s := shownBy(n, number); s != nil && !historyIsUsed(n, s.Cell.Index, number) {
			if c, ok := output(n, v, s, number); ok {
				all = append(all, c)
			}
		}
	}
	return all
}

// shownBy returns the last statement of the cell with a number, which is an expression; nil if it is not known.
func shownBy(n *evidence.Notebook, number int) *evidence.Statement {
	for i := len(n.Cells) - 1; i >= 0; i-- {
		c := n.Cells[i]
		if c.Window.ExecutionCount == nil || *c.Window.ExecutionCount != number {
			continue
		}
		if len(c.Statements) == 0 || c.Tree == nil {
			return nil
		}
		s := c.Statements[len(c.Statements)-1]
		if _, ok := s.Node.(*syntax.ExprStmt); !ok || s.Node != c.Tree.Body[len(c.Tree.Body)-1] {
			return nil
		}
		return s
	}
	return nil
}

// historyIsUsed reports whether a later cell may use an output, by its number or as one of the last ones.
func historyIsUsed(n *evidence.Notebook, cell, number int) bool {
	if !isRead(n, 0) || shadowed(n) {
		return true
	}
	for _, name := range []string{"Out", "_oh", "__", "___", "_" + strconv.Itoa(number)} {
		if mentions(n, cell, name) > 0 {
			return true
		}
	}
	used := false
	each(n, cell, func(_ *evidence.Cell, node syntax.Node) { // _ is often a name for what nobody uses
		switch node := node.(type) {
		case *syntax.Call:
			for _, arg := range node.Args {
				used = used || isName(arg, "_")
			}
		case *syntax.Attribute:
			used = used || isName(node.Value, "_")
		case *syntax.Subscript:
			used = used || isName(node.Value, "_")
		case *syntax.BinOp:
			used = used || isName(node.Left, "_") || isName(node.Right, "_")
		case *syntax.Assign:
			used = used || isName(node.Value, "_")
		case *syntax.ExprStmt:
			used = used || isName(node.Value, "_")
		}
	})
	return used
}

// shadowed reports whether a cell gives the name display to something of its own.
func shadowed(n *evidence.Notebook) bool {
	for _, c := range n.Cells {
		if c.Tree != nil && binds(c.Tree, "display") {
			return true
		}
	}
	return false
}

func output(n *evidence.Notebook, v *model.Variable, s *evidence.Statement, number int) (evidence.Candidate, bool) {
	maker := at(n.CellOf(v.Execution), v.Line)
	if maker == nil || maker.Order > s.Order {
		return evidence.Candidate{}, false
	}
	gone, ok := letGo(n, maker, s)
	if !ok {
		return evidence.Candidate{}, false
	}
	c := evidence.Candidate{Kind: "output", Cell: s.Cell, Line: s.Line, Names: []string{v.Name},
		Accuracy: model.SavesBound}
	if c.Edits = shown(s); c.Edits == nil {
		return c, false
	}
	of := func(site *evidence.Site) bool { return site.Statement == maker }
	c.Falls = func(m *evidence.Moment) int64 {
		if m.Order <= gone {
			return 0
		}
		return min(v.Bytes, n.Resident(m, of))
	}
	c.Title = words.OutputKept(number, v.Bytes)
	c.Changes = []string{words.OutputGone(number)}
	c.Of = words.In(number)
	return c, true
}

// letGo returns the order of the statement with which names let go of memory that one statement made and another one
// showed; that is the latter if no name ever had it.
func letGo(n *evidence.Notebook, maker, shown *evidence.Statement) (order int, ok bool) {
	if maker == shown {
		return shown.Order, true
	}
	if maker.Node == nil {
		return 0, false
	}
	names := append(bound(maker.Node), namesIn(shown.Node)...)
	for _, name := range names {
		for _, s := range n.Statements {
			if s.Order > shown.Order && s.Node != nil && binds(s.Node, name) {
				order = max(order, s.Order)
				break
			}
		}
	}
	return order, order > 0
}

// shown returns the edit that shows the value of an expression without keeping it; nil if there is none.
func shown(s *evidence.Statement) []model.AdviceEdit {
	e := s.Node.(*syntax.ExprStmt)
	text := s.Cell.Text(e.Value)
	if _, is := e.Value.(*syntax.Tuple); is && !strings.HasPrefix(text, "(") {
		text = "(" + text + ")"
	} else if is {
		text = "(" + text + ")" // display(a, b) would show two values
	}
	edits := evidence.ReplaceNode(s.Cell, e.Value, "display("+text+")")
	for i := range edits {
		edits[i].Text = strings.TrimSuffix(edits[i].Text, "\r")
	}
	return edits
}
