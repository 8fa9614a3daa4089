package notebook

import (
	"ipytracer/internal/syntax"
	"slices"
)

// Block is a list of statements, and the index of one of them.
type Block struct {
	Stmts []syntax.Stmt
	At    int
	Owner syntax.Stmt // the compound statement with this block; nil for a cell
}

// Spot is a statement in the source of a cell.
type Spot struct {
	Cell *Cell
	Stmt syntax.Stmt
	// Blocks are the blocks around the statement, the outermost first. The last block has the statement itself.
	Blocks []Block
}

// Below returns the statements right below this one.
func (p Spot) Below() (all []Spot) {
	for _, stmts := range syntax.Blocks(p.Stmt) {
		for i, stmt := range stmts {
			blocks := append(p.Blocks[:len(p.Blocks):len(p.Blocks)], Block{stmts, i, p.Stmt})
			all = append(all, Spot{p.Cell, stmt, blocks})
		}
	}
	return all
}

// Spots calls visit for all statements of the cells, a statement before the statements in its blocks. Where visit
// returns false, Spots leaves out the statements in its blocks.
func (n *Notebook) Spots(visit func(Spot) bool) {
	for _, c := range n.Cells {
		for _, p := range c.spots() {
			descend(p, visit)
		}
	}
}

// spots returns the statements at the top of a cell; none if it has no tree.
func (c *Cell) spots() (all []Spot) {
	if c.Tree != nil {
		for i, stmt := range c.Tree.Body {
			all = append(all, Spot{c, stmt, []Block{{c.Tree.Body, i, nil}}})
		}
	}
	return all
}

func descend(p Spot, visit func(Spot) bool) {
	if visit(p) {
		for _, below := range p.Below() {
			descend(below, visit)
		}
	}
}

// SpotOn returns the innermost statement on a line of a cell; ok is false where there is none. If several statements of
// the cell share the line, SpotOn searches the running statement, or the first if the running one is not among them.
func (c *Cell) SpotOn(line int, running *Statement) (found Spot, ok bool) {
	holds := func(p Spot) bool {
		at := p.Stmt.Place()
		return at.Start.Line <= line && line <= at.End.Line
	}
	below := c.spots()
	at := slices.IndexFunc(below, func(p Spot) bool { return p.Stmt == running.Node && holds(p) })
	if at < 0 {
		at = slices.IndexFunc(below, holds)
	}
	for ; at >= 0; at = slices.IndexFunc(below, holds) {
		found, ok = below[at], true
		below = found.Below()
	}
	return found, ok
}

// Lines returns the first and the last line of the statement, decorators included.
func (p Spot) Lines() (from, to int) {
	from, to = p.Stmt.Place().Start.Line, p.Stmt.Place().End.Line
	if f, ok := p.Stmt.(*syntax.FunctionDef); ok && len(f.Decorators) > 0 {
		from = min(from, f.Decorators[0].Place().Start.Line)
	}
	return from, to
}

// Loop returns the innermost loop around the statement in the same function.
func (p Spot) Loop() (Spot, bool) {
	for i := len(p.Blocks) - 1; i > 0; i-- {
		switch owner := p.Blocks[i].Owner.(type) {
		case *syntax.For, *syntax.While:
			return Spot{p.Cell, owner, p.Blocks[:i]}, true
		case *syntax.FunctionDef, *syntax.ClassDef:
			return Spot{}, false
		}
	}
	return Spot{}, false
}

// Inside reports whether a statement around this one passes.
func (p Spot) Inside(passes func(syntax.Stmt) bool) bool {
	return slices.ContainsFunc(p.Blocks, func(b Block) bool { return b.Owner != nil && passes(b.Owner) })
}

// Shown reports whether the statement is an expression at the end of a cell: IPython shows its value.
func (p Spot) Shown() bool {
	_, isExpr := p.Stmt.(*syntax.ExprStmt)
	return isExpr && len(p.Blocks) == 1 && p.Blocks[0].At == len(p.Blocks[0].Stmts)-1
}
