package tensors

import (
	"strconv"
	"strings"

	"ipytracer/internal/advice/evidence"
	"ipytracer/internal/syntax"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// recomputed finds the loop of a forward method that sends a value through equal blocks: x = block(x). The activations
// inside of the blocks could be computed again when backward comes to them.
func recomputed(n *evidence.Notebook) (all []evidence.Candidate) {
	torch := torchName(n)
	if n.Peak == nil || torch == "" || !anyTrains(n) {
		return nil
	}
	z := sizesOf(n)
	each(n, func(p spot) bool {
		loop, ok := p.stmt.(*syntax.For)
		if !ok || !p.inside(func(s syntax.Stmt) bool {
			f, ok := s.(*syntax.FunctionDef)
			return ok && f.Name == "forward"
		}) {
			return true
		}
		name, ok := loop.Target.(*syntax.Name)
		if !ok {
			return true
		}
		for _, one := range p.below() {
			if c, ok := recomputing(n, z, p, one, name.ID, torch); ok {
				all = append(all, c)
			}
		}
		return true
	})
	return all
}

// anyTrains reports whether the notebook goes backward anywhere.
func anyTrains(n *evidence.Notebook) bool {
	found := false
	each(n, func(p spot) bool {
		found = found || trainsWithin(n, p.stmt, 0)
		return !found
	})
	return found
}

// recomputing returns the candidate about one statement of such a loop.
func recomputing(n *evidence.Notebook, z sizes, loop, p spot, block, torch string) (c evidence.Candidate, ok bool) {
	assign, ok := p.stmt.(*syntax.Assign)
	if !ok {
		return c, false
	}
	var call *syntax.Call
	count := 0
	syntax.Walk(assign.Value, func(node syntax.Node) bool {
		if one, ok := node.(*syntax.Call); ok {
			if f, ok := one.Func.(*syntax.Name); ok && f.ID == block {
				call = one
				count++
			}
		}
		return true
	})
	if count != 1 || len(call.Args) != 1 || len(call.Keywords) > 0 {
		return c, false
	}
	blocks := blocksOfLoop(n, loop, loop.stmt.(*syntax.For))
	if blocks < 2 {
		return c, false
	}
	mine := func(s *evidence.Site) bool { return forward(s) && p.on(s) }
	falls := func(m *evidence.Moment) int64 {
		if m.Statement == nil || m.Statement.Node == nil || !trains(n, m.Statement.Node) {
			return 0
		}
		return inner(z, m, blocks, call == assign.Value, mine)
	}
	if falls(n.Peak) == 0 {
		return c, false
	}
	from, _ := p.lines()
	edits := []model.AdviceEdit{evidence.Replace(p.cell, 1, 0, "import "+torch+".utils.checkpoint")}
	if torch != "torch" || firstLine(p.cell) {
		return c, false
	}
	edits = append(edits, evidence.ReplacePart(p.cell, call, torch+".utils.checkpoint.checkpoint("+block+", "+
		p.cell.Text(call.Args[0])+", use_reentrant=False)"))
	return evidence.Candidate{Kind: "checkpoint", Cell: p.cell, Line: from, Names: []string{block},
		Title: words.ActivationsKept(block), Accuracy: model.SavesBound,
		Changes: []string{words.ComputedAgain(), words.RandomAgain()},
		Unknown: append([]string{words.BackwardNeeds()}, doubts(n, z, mine)...), Edits: edits, Falls: falls}, true
}

// firstLine reports whether a cell's first line must stay its first: that of a magic.
func firstLine(c *evidence.Cell) bool {
	if c.Tree == nil || len(c.Tree.Body) == 0 {
		return true
	}
	_, magic := c.Tree.Body[0].(*syntax.Magic)
	return magic
}

// inner returns the activations at a moment that are inside of the blocks, but for those of one block and each one's
// input. If the block's result is the value that goes on, that is made once more, too.
func inner(z sizes, m *evidence.Moment, blocks int64, whole bool, mine func(*evidence.Site) bool) int64 {
	var carried, least int64
	for s := range m.Live {
		switch size := z[s]; {
		case !mine(s) || size < leastBlock:
		case len(s.Stack) > 0 && s.Stack[0].Execution > 0: // code of the notebook, such as x + block(x), made it
			carried = max(carried, size)
		case least == 0 || size < least:
			least = size
		}
	}
	if carried == 0 {
		carried = least
	}
	one := sum(m, mine)/blocks - carried
	if !whole {
		return max(0, one*(blocks-1))
	}
	return max(0, one*(blocks-1)-carried)
}

// blocksOfLoop returns the number of blocks that a loop goes through, by the class that has them; 0 if it
// is not written there as a number.
func blocksOfLoop(n *evidence.Notebook, p spot, loop *syntax.For) int64 {
	list, ok := loop.Iter.(*syntax.Attribute)
	if !ok {
		return 0
	}
	for i := len(p.blocks) - 1; i > 0; i-- {
		class, ok := p.blocks[i].owner.(*syntax.ClassDef)
		if !ok {
			continue
		}
		for _, stmt := range class.Body {
			f, ok := stmt.(*syntax.FunctionDef)
			if !ok || f.Name != "__init__" {
				continue
			}
			for _, one := range f.Body {
				if a, ok := one.(*syntax.Assign); ok && len(a.Targets) == 1 && same(a.Targets[0], list) {
					return length(n, class, f, a.Value)
				}
			}
		}
		return 0
	}
	return 0
}

// same reports whether two expressions are the same attribute of one name.
func same(a, b syntax.Expr) bool {
	x, ok := a.(*syntax.Attribute)
	y, also := b.(*syntax.Attribute)
	if !ok || !also || x.Attr != y.Attr {
		return false
	}
	v, ok := x.Value.(*syntax.Name)
	w, also := y.Value.(*syntax.Name)
	return ok && also && v.ID == w.ID
}

// length returns how many modules a list of modules gets: of a list that is written out, or a comprehension over range.
func length(n *evidence.Notebook, class *syntax.ClassDef, init *syntax.FunctionDef, value syntax.Expr) int64 {
	call, ok := value.(*syntax.Call)
	if !ok || len(call.Args) != 1 {
		return 0
	}
	arg := call.Args[0]
	if star, ok := arg.(*syntax.Starred); ok {
		arg = star.Value
	}
	switch list := arg.(type) {
	case *syntax.List:
		return int64(len(list.Elts))
	case *syntax.Comp:
		if len(list.Generators) != 1 || len(list.Generators[0].Ifs) > 0 {
			return 0
		}
		over, ok := list.Generators[0].Iter.(*syntax.Call)
		if !ok || attribute(over) != "range" || len(over.Args) != 1 {
			return 0
		}
		return number(n, class, init, over.Args[0])
	}
	return 0
}

// number returns a number that is written, or the one that a parameter has in every call of the class.
func number(n *evidence.Notebook, class *syntax.ClassDef, init *syntax.FunctionDef, e syntax.Expr) int64 {
	name, ok := e.(*syntax.Name)
	if !ok {
		return constant(e)
	}
	at, given := -1, syntax.Expr(nil)
	for i, arg := range init.Args.Args {
		if arg.Name == name.ID {
			at, given = i-1, arg.Default // without self
		}
	}
	if at < 0 {
		return 0
	}
	value, known := int64(0), true
	each(n, func(p spot) bool {
		if blocksOf(p.stmt) != nil {
			return true
		}
		syntax.Walk(p.stmt, func(node syntax.Node) bool {
			call, ok := node.(*syntax.Call)
			if !ok || attribute(call) != class.Name {
				return true
			}
			arg := given
			if k := keyword(call, name.ID); k != nil {
				arg = k.Value
			} else if at < len(call.Args) {
				arg = call.Args[at]
			}
			one := constant(arg)
			known = known && one > 0 && (value == 0 || value == one)
			value = one
			return true
		})
		return true
	})
	if !known {
		return 0
	}
	return value
}

// constant returns a number that is written; 0 for anything else.
func constant(e syntax.Expr) int64 {
	c, ok := e.(*syntax.Constant)
	if !ok || c.Kind != "int" {
		return 0
	}
	value, err := strconv.ParseInt(strings.ReplaceAll(c.Text, "_", ""), 10, 64)
	if err != nil || value < 0 {
		return 0
	}
	return value
}
