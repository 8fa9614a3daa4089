package notebook

import (
	"slices"
	"strings"

	"ipytracer/internal/syntax"
	"ipytracer/model"
)

// folded returns a tree in which a magic of the whole cell that runs Python, as %%time does, has the other statements
// in its body: IPython runs them as one.
func folded(tree *syntax.Module) *syntax.Module {
	if len(tree.Body) < 2 {
		return tree
	}
	m, ok := tree.Body[0].(*syntax.Magic)
	if !ok || m.Body != nil || !strings.HasPrefix(m.Text, "%%") {
		return tree
	}
	rest := tree.Body[1:]
	whole := syntax.Span{Start: m.Start, End: rest[len(rest)-1].Place().End}
	return &syntax.Module{Span: tree.Span, Body: []syntax.Stmt{&syntax.Magic{Span: whole, Text: m.Text, Body: rest}}}
}

// timed returns the magic on a line of a cell that times Python, %time or %%time; nil if there is none.
func (c *Cell) timed(line int) *syntax.Magic {
	if c.Tree == nil {
		return nil
	}
	for _, s := range c.Tree.Body {
		if m, ok := s.(*syntax.Magic); ok && m.Start.Line == line && len(m.Body) > 0 && m.Name() == "time" {
			return m
		}
	}
	return nil
}

// located returns a stack in which calls in code that %time runs have their line in the cell. IPython compiles that
// code under a name of its own, with lines that count from its beginning.
func (n *Notebook) located(stack []model.Frame) []model.Frame {
	for i := len(stack) - 1; i >= 0; i-- {
		f := &stack[i]
		if f.Execution == 0 {
			continue
		}
		c := n.CellOf(f.Execution)
		if c == nil {
			return stack
		}
		m := c.timed(f.Line)
		if m == nil {
			return stack
		}
		first := m.Start.Line // line 1 of the code of %time
		if strings.HasPrefix(m.Text, "%%") {
			first++
		}
		out := slices.Clone(stack)
		for j := range out[:i] {
			g := &out[j]
			timed := g.File == "<timed exec>" || g.File == "<timed eval>"
			if g.Execution == 0 && timed && atOnce(g.Function) && g.Line > 0 && first+g.Line-1 <= len(c.Lines) {
				g.Execution, g.Line = f.Execution, first+g.Line-1
			}
		}
		return out
	}
	return stack
}

// atOnce reports whether code of a name runs where it stands. A function may be of another cell.
func atOnce(function string) bool {
	return function == "<module>" || strings.HasSuffix(function, "<listcomp>") ||
		strings.HasSuffix(function, "<setcomp>") || strings.HasSuffix(function, "<dictcomp>")
}

// isMagic reports whether a cell begins with a magic that takes the whole cell.
func isMagic(c *Cell) bool {
	return strings.HasPrefix(strings.TrimLeft(c.Window.Source, " \t\r\n"), "%%")
}
