package notebook

import (
	"slices"
	"strings"

	"ipytracer/internal/syntax"
	"ipytracer/model"
)

// Insert returns the edits that put a line of code behind a statement, at the same depth. If the statement is a cell's
// last one and shows its value, the code goes to the beginning of the next cell: a cell shows the value of its last
// statement only. ok is false where neither place exists.
func (n *Notebook) Insert(behind *Statement, code string) (edits []model.AdviceEdit, ok bool) {
	c := behind.Cell
	if c.Tree == nil || behind.Node == nil {
		return nil, false
	}
	body := c.Tree.Body
	if body[len(body)-1] == behind.Node && shows(behind) {
		return n.insertBefore(c.Index+1, code)
	}
	return Spot{c, behind.Node, []Block{{body, slices.Index(body, behind.Node), nil}}}.Behind(code)
}

// insertBefore returns the edits that put a line of code at the beginning of a cell, behind a magic such as %%time.
func (n *Notebook) insertBefore(cell int, code string) (edits []model.AdviceEdit, ok bool) {
	if cell >= len(n.Cells) {
		return nil, false
	}
	c := n.Cells[cell]
	if c.Tree == nil {
		return nil, false
	}
	if !isMagic(c) {
		return edit(c, 1, 0, code), true
	}
	m, ok := c.Tree.Body[0].(*syntax.Magic)
	if !ok || len(m.Body) == 0 || !onceIn[m.Name()] {
		return nil, false
	}
	return edit(c, m.Start.Line+1, m.Start.Line, code), true
}

// Behind returns the edit that puts a line of code behind the statement, at its depth. ok is false where another
// statement begins on the same line.
func (p Spot) Behind(code string) (edits []model.AdviceEdit, ok bool) {
	end := p.Stmt.Place().End.Line
	if next := p.next(); next != nil && next.Place().Start.Line == end {
		return nil, false
	}
	return edit(p.Cell, end+1, end, p.indent()+code), true
}

// Above returns the edit that puts a line of code above the statement and its decorators, at its depth.
func (p Spot) Above(code string) []model.AdviceEdit {
	from, _ := p.Lines()
	return edit(p.Cell, from, from-1, p.indent()+code)
}

// Wrapped returns the edit that puts the statement into a with statement that begins with head; nil where its lines
// cannot be indented.
func (p Spot) Wrapped(head string) []model.AdviceEdit {
	from, to := p.Lines()
	if !p.ownsLines() || from < 1 || to > len(p.Cell.Lines) || syntax.Any(p.Stmt, breaksIfIndented) {
		return nil
	}
	step := "    "
	if strings.HasPrefix(p.indent(), "\t") {
		step = "\t"
	}
	text := []string{p.indent() + head}
	for _, line := range p.Cell.Lines[from-1 : to] {
		if line != "" {
			line = step + line
		}
		text = append(text, line)
	}
	return edit(p.Cell, from, to, strings.Join(text, "\n"))
}

// breaksIfIndented reports whether indenting the lines of a node changes their meaning: magics, and strings of several
// lines.
func breaksIfIndented(node syntax.Node) bool {
	switch node.(type) {
	case *syntax.Magic, *syntax.Shell:
		return true
	case *syntax.Constant, *syntax.JoinedStr:
		return node.Place().Start.Line != node.Place().End.Line
	}
	return false
}

// ownsLines reports whether no other statement is on the lines of this one.
func (p Spot) ownsLines() bool {
	b := p.Blocks[len(p.Blocks)-1]
	from, to := p.Lines()
	if b.At > 0 && b.Stmts[b.At-1].Place().End.Line >= from {
		return false
	}
	if next := p.next(); next != nil && next.Place().Start.Line <= to {
		return false
	}
	return b.Owner == nil || b.Owner.Place().Start.Line < from
}

// next returns the statement behind this one in its block; nil if there is none.
func (p Spot) next() syntax.Stmt {
	if b := p.Blocks[len(p.Blocks)-1]; b.At+1 < len(b.Stmts) {
		return b.Stmts[b.At+1]
	}
	return nil
}

// indent returns the white space in front of the statement's first line.
func (p Spot) indent() string {
	from, _ := p.Lines()
	line := p.Cell.Line(from)
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// Margins returns the indentation of the statement and the comment behind it. ok is false where replacing the lines
// would lose something: other code on the lines, or a comment inside the statement.
func (p Spot) Margins() (indent, comment string, ok bool) {
	at := p.Stmt.Place()
	first, last := p.Cell.Line(at.Start.Line), p.Cell.Line(at.End.Line)
	if at.Start.Col > len(first) || at.End.Col > len(last) || strings.TrimSpace(first[:at.Start.Col]) != "" {
		return "", "", false
	}
	comment = strings.TrimRight(last[at.End.Col:], " \t\r")
	if t := strings.TrimSpace(comment); t != "" && !strings.HasPrefix(t, "#") {
		return "", "", false
	}
	inside := at.Start.Line != at.End.Line && strings.Contains(p.Cell.Text(p.Stmt), "#")
	return first[:at.Start.Col], comment, !inside
}

// Instead returns the edit that replaces the statement by lines of code; nil where other code is on its lines. The only
// statement of a %time line becomes several statements on that line, with semicolons.
func (p Spot) Instead(lines []string) []model.AdviceEdit {
	at := p.Stmt.Place()
	if indent, comment, ok := p.Margins(); ok {
		lines = slices.Clone(lines)
		lines[0] += comment
		return edit(p.Cell, at.Start.Line, at.End.Line, indent+strings.Join(lines, "\n"+indent))
	}
	if m := p.Cell.timed(at.Start.Line); m == nil || at.Start.Line != at.End.Line || len(m.Body) != 1 ||
		m.Body[0] != p.Stmt {
		return nil
	}
	return Replace(p.Cell, p.Stmt, strings.Join(lines, "; "))
}

// Replace returns the edit that replaces a node by text, and keeps the rest of its lines; nil where the node is not in
// the cell.
func Replace(c *Cell, node syntax.Node, text string) []model.AdviceEdit {
	at := node.Place()
	first, last := c.Line(at.Start.Line), c.Line(at.End.Line)
	if at.Start.Col > len(first) || at.End.Col > len(last) {
		return nil
	}
	return edit(c, at.Start.Line, at.End.Line, first[:at.Start.Col]+text+last[at.End.Col:])
}

// edit returns the edit that replaces lines of a cell by text. If to is from-1, it inserts the text before line from.
func edit(c *Cell, from, to int, text string) []model.AdviceEdit {
	return []model.AdviceEdit{{Execution: c.Window.Execution, ExecutionCount: c.Window.ExecutionCount,
		StartLine: from, EndLine: to, Text: text}}
}

// shows reports whether the last statement of a cell shows a value: an expression without a semicolon, or a magic.
func shows(s *Statement) bool {
	if m, ok := s.Node.(*syntax.Magic); ok {
		if len(m.Body) == 0 {
			return true
		}
		_, ok := m.Body[len(m.Body)-1].(*syntax.ExprStmt)
		return ok || isMagic(s.Cell)
	}
	e, ok := s.Node.(*syntax.ExprStmt)
	if !ok {
		return s.Node == nil
	}
	rest := s.Cell.Window.Source[min(e.End.Offset, len(s.Cell.Window.Source)):]
	return !strings.HasPrefix(strings.TrimLeft(rest, " \t"), ";")
}
