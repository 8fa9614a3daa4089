package notebook

import (
	"slices"
	"strings"

	"ipytracer/internal/syntax"
	"ipytracer/model"
)

// folded returns a tree in which a leading magic of the whole cell, such as %%time, has the other statements as its
// body: IPython runs them as one statement. It returns other trees unchanged.
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

// timed returns the magic %time or %%time on a line of a cell; nil if there is none.
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

// located returns a stack with calls in the code of %time placed in the cell. IPython compiles this code as a file of
// its own, <timed exec> or <timed eval>, whose first line is the code's first line.
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
		first := m.Start.Line // the cell's line that is line 1 of the timed file
		if strings.HasPrefix(m.Text, "%%") {
			first++
		}
		out := slices.Clone(stack)
		for j := range out[:i] {
			g := &out[j]
			timed := g.File == "<timed exec>" || g.File == "<timed eval>"
			line := first + g.Line - 1
			if g.Execution == 0 && timed && runsInPlace(g.Function) && g.Line > 0 && line <= len(c.Lines) {
				g.Execution, g.Line = f.Execution, line
			}
		}
		return out
	}
	return stack
}

// runsInPlace reports whether code with this function name runs in the cell that has its source. A function may have
// been defined by the timed code of another cell.
func runsInPlace(function string) bool {
	return function == "<module>" || strings.HasSuffix(function, "<listcomp>") ||
		strings.HasSuffix(function, "<setcomp>") || strings.HasSuffix(function, "<dictcomp>")
}

// isMagic reports whether a cell begins with a magic of the whole cell, such as %%time.
func isMagic(c *Cell) bool {
	return strings.HasPrefix(strings.TrimLeft(c.Window.Source, " \t\r\n"), "%%")
}
