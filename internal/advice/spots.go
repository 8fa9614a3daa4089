package advice

import (
	"strings"

	"ipytracer/internal/advice/notebook"
	"ipytracer/internal/syntax"
	"ipytracer/model"
)

// block is a list of statements, and the place of one of them.
type block struct {
	stmts []syntax.Stmt
	at    int
	owner syntax.Stmt // nil for a cell
}

// spot is a statement in the source of a cell. Blocks has the lists of statements around it, the outermost first: the
// last one has the statement itself.
type spot struct {
	cell   *notebook.Cell
	stmt   syntax.Stmt
	blocks []block
}

// below returns the spots right below one.
func (p spot) below() (all []spot) {
	for _, stmts := range syntax.Blocks(p.stmt) {
		for i, stmt := range stmts {
			blocks := append(p.blocks[:len(p.blocks):len(p.blocks)], block{stmts, i, p.stmt})
			all = append(all, spot{p.cell, stmt, blocks})
		}
	}
	return all
}

// each visits all statements of the cells, from the outside to the inside. Where visit returns false, it leaves out
// those below.
func each(n *notebook.Notebook, visit func(spot) bool) {
	for _, c := range n.Cells {
		if c.Tree == nil {
			continue
		}
		for i, stmt := range c.Tree.Body {
			descend(spot{c, stmt, []block{{c.Tree.Body, i, nil}}}, visit)
		}
	}
}

func descend(p spot, visit func(spot) bool) {
	if visit(p) {
		for _, one := range p.below() {
			descend(one, visit)
		}
	}
}

// lines returns the first and the last line of the statement, decorators included.
func (p spot) lines() (from, to int) {
	from, to = p.stmt.Place().Start.Line, p.stmt.Place().End.Line
	if f, ok := p.stmt.(*syntax.FunctionDef); ok && len(f.Decorators) > 0 {
		from = min(from, f.Decorators[0].Place().Start.Line)
	}
	return from, to
}

// loop returns the innermost loop around the statement in the same function.
func (p spot) loop() (spot, bool) {
	for i := len(p.blocks) - 1; i > 0; i-- {
		switch owner := p.blocks[i].owner.(type) {
		case *syntax.For, *syntax.While:
			return spot{p.cell, owner, p.blocks[:i]}, true
		case *syntax.FunctionDef, *syntax.ClassDef:
			return spot{}, false
		}
	}
	return spot{}, false
}

// inside reports whether one of the statements around it passes.
func (p spot) inside(passes func(syntax.Stmt) bool) bool {
	for _, b := range p.blocks {
		if b.owner != nil && passes(b.owner) {
			return true
		}
	}
	return false
}

// has reports whether a node or one below it passes.
func has(node syntax.Node, passes func(syntax.Node) bool) bool {
	found := false
	syntax.Walk(node, func(one syntax.Node) bool {
		found = found || passes(one)
		return !found
	})
	return found
}

// torchName returns the name under which the notebook has PyTorch; "" if there is none.
func torchName(n *notebook.Notebook) string {
	name := ""
	each(n, func(p spot) bool {
		if s, ok := p.stmt.(*syntax.Import); ok && len(p.blocks) == 1 {
			for _, a := range s.Names {
				switch {
				case a.Name == "torch" && a.AsName != "":
					name = a.AsName
				case a.Name == "torch" || strings.HasPrefix(a.Name, "torch.") && a.AsName == "":
					name = "torch"
				}
			}
		}
		return name == "" && len(p.blocks) < 2
	})
	return name
}

// alone reports whether no other statement is on the lines of this one, so that they can be moved.
func (p spot) alone() bool {
	b := p.blocks[len(p.blocks)-1]
	from, to := p.lines()
	if b.at > 0 && b.stmts[b.at-1].Place().End.Line >= from {
		return false
	}
	if b.at+1 < len(b.stmts) && b.stmts[b.at+1].Place().Start.Line <= to {
		return false
	}
	return b.owner == nil || b.owner.Place().Start.Line < from
}

// wrapped returns the edit that puts a statement into a with statement; ok is false where the lines cannot be moved.
func (p spot) wrapped(head string) ([]model.AdviceEdit, bool) {
	from, to := p.lines()
	if !p.alone() || from < 1 || to > len(p.cell.Lines) {
		return nil, false
	}
	fixed := has(p.stmt, func(node syntax.Node) bool {
		switch node.(type) {
		case *syntax.Magic, *syntax.Shell:
			return true
		case *syntax.Constant, *syntax.JoinedStr:
			return node.Place().Start.Line != node.Place().End.Line
		}
		return false
	})
	if fixed {
		return nil, false
	}
	before := indent(p.cell.Line(from))
	step := "    "
	if strings.HasPrefix(before, "\t") {
		step = "\t"
	}
	text := []string{before + head}
	for _, line := range p.cell.Lines[from-1 : to] {
		if line != "" {
			line = step + line
		}
		text = append(text, line)
	}
	return []model.AdviceEdit{notebook.Replace(p.cell, from, to, strings.Join(text, "\n"))}, true
}

// shown reports whether the statement is the last one of a cell, which shows its value.
func (p spot) shown() bool {
	_, expression := p.stmt.(*syntax.ExprStmt)
	return expression && len(p.blocks) == 1 && p.blocks[0].at == len(p.blocks[0].stmts)-1
}
