package arrays

import (
	"slices"
	"strings"

	"ipytracer/internal/advice/notebook"
	"ipytracer/internal/syntax"
	"ipytracer/model"
)

// place is a simple statement that allocated arrays in the statement that was running at a moment: that one itself, or
// one in a loop or a function that it called.
type place struct {
	cell *notebook.Cell
	node syntax.Stmt
	// running is the run of the statement at the top of a cell in which it was.
	running *notebook.Statement
	moment  *notebook.Moment
	// path are the statements around it, the outermost first. inFunction: one of them is a function.
	path       []syntax.Stmt
	inFunction bool
	live, kept int64 // bytes of its arrays that lived at the moment, and of those that outlived the running statement
	sites      []*notebook.Site
}

// maxPlaces bounds the places of one moment.
const maxPlaces = 256

// at returns the place in the notebook.
func (p *place) at() at { return at{p.running.Order, p.node.Place().Start.Offset} }

func isNumPy(s *notebook.Site) bool { return s.Meter == numpyMeter }

// places returns the simple statements whose arrays lived at a moment, and were made in the statement that was running
// then.
func places(n *notebook.Notebook, m *notebook.Moment) []*place {
	if m == nil || m.Statement == nil {
		return nil
	}
	var all []*place
	type key struct{ execution, line int }
	on := map[key]*place{}
	for site, live := range m.Live {
		f := site.Innermost()
		if site.Meter != numpyMeter || f == nil || m.Made[site] == 0 {
			continue
		}
		cell := n.CellOf(f.Execution)
		if cell == nil || cell.Tree == nil {
			continue
		}
		p := on[key{f.Execution, f.Line}]
		if p == nil && len(on) < maxPlaces {
			node, path, inFunction := statementOn(cell, f.Line, m.Statement)
			if node == nil {
				continue
			}
			i := slices.IndexFunc(all, func(p *place) bool { return p.cell == cell && p.node == node })
			if i < 0 {
				i = len(all)
				all = append(all, &place{cell: cell, node: node, running: m.Statement, moment: m, path: path,
					inFunction: inFunction})
			}
			p = all[i]
			on[key{f.Execution, f.Line}] = p
		}
		if p == nil {
			continue
		}
		p.live += live
		p.kept += m.Kept[site]
		p.sites = append(p.sites, site)
	}
	slices.SortFunc(all, func(a, b *place) int {
		if a.live != b.live {
			return int(min(max(b.live-a.live, -1), 1))
		}
		return a.node.Place().Start.Offset - b.node.Place().Start.Offset
	})
	return all
}

// statementOn returns the innermost statement on a line, and those around it.
func statementOn(c *notebook.Cell, line int, running *notebook.Statement) (found syntax.Stmt, path []syntax.Stmt,
	inFunction bool) {
	body := c.Tree.Body
	if running.Cell == c && running.Node != nil && holds(running.Node, line) {
		body = []syntax.Stmt{running.Node}
	}
	for body != nil {
		i := slices.IndexFunc(body, func(s syntax.Stmt) bool { return holds(s, line) })
		if i < 0 {
			return nil, nil, false
		}
		if found != nil {
			path = append(path, found)
		}
		found = body[i]
		if _, ok := found.(*syntax.FunctionDef); ok {
			inFunction = true
		}
		body = bodyOf(found, line)
	}
	return found, path, inFunction
}

func holds(s syntax.Stmt, line int) bool {
	return s.Place().Start.Line <= line && line <= s.Place().End.Line
}

// bodyOf returns the list of statements inside another one that a line is in; nil if there is none.
func bodyOf(s syntax.Stmt, line int) []syntax.Stmt {
	for _, body := range syntax.Blocks(s) {
		if slices.ContainsFunc(body, func(s syntax.Stmt) bool { return holds(s, line) }) {
			return body
		}
	}
	return nil
}

// falls returns a function that is a number of bytes at one moment, and nothing at others. It is no more than the
// statement's run rose by: blocks can lie in memory that the process had before.
func falls(m *notebook.Moment, bytes int64) func(*notebook.Moment) int64 {
	bytes = min(bytes, max(0, m.Peak-m.Start))
	return func(other *notebook.Moment) int64 {
		if other == m {
			return bytes
		}
		return 0
	}
}

// alone reports whether a node begins and ends its lines, but for a comment, and returns its indentation and the
// comment.
func alone(c *notebook.Cell, node syntax.Node) (indent, comment string, ok bool) {
	p := node.Place()
	first, last := c.Line(p.Start.Line), c.Line(p.End.Line)
	if p.Start.Col > len(first) || p.End.Col > len(last) || strings.TrimSpace(first[:p.Start.Col]) != "" {
		return "", "", false
	}
	comment = strings.TrimRight(last[p.End.Col:], " \t\r")
	if t := strings.TrimSpace(comment); t != "" && !strings.HasPrefix(t, "#") {
		return "", "", false
	}
	if p.Start.Line != p.End.Line && strings.Contains(c.Text(node), "#") {
		return "", "", false // a comment inside would be lost
	}
	return first[:p.Start.Col], comment, true
}

// instead returns the edit that puts lines in the place of a statement.
func instead(c *notebook.Cell, node syntax.Node, lines []string) ([]model.AdviceEdit, bool) {
	indent, comment, ok := alone(c, node)
	if len(lines) == 0 {
		return nil, false
	}
	if c.Tree.Body[len(c.Tree.Body)-1] == node {
		lines[len(lines)-1] = unshown(lines[len(lines)-1])
	}
	if !ok {
		return onOneLine(c, node, lines)
	}
	p := node.Place()
	text := indent + lines[0] + comment
	for _, line := range lines[1:] {
		text += "\n" + indent + line
	}
	return []model.AdviceEdit{notebook.Replace(c, p.Start.Line, p.End.Line, text)}, true
}

// unshown returns the code of a step that shows nothing at the end of a cell: x = np.exp(x, out=x).
func unshown(line string) string {
	if at := strings.LastIndex(line, ", out="); at >= 0 {
		if name, ok := strings.CutSuffix(line[at+len(", out="):], ")"); ok {
			return name + " = " + line
		}
	}
	return line
}

// onOneLine returns the edit that puts lines in the place of the only statement of a line of %time.
func onOneLine(c *notebook.Cell, node syntax.Node, lines []string) ([]model.AdviceEdit, bool) {
	p := node.Place()
	i := slices.IndexFunc(c.Tree.Body, func(s syntax.Stmt) bool { return s.Place().Start.Line == p.Start.Line })
	if i < 0 || p.Start.Line != p.End.Line {
		return nil, false
	}
	if _, magic := c.Tree.Body[i].(*syntax.Magic); !magic || timed(c.Tree.Body[i]) != node {
		return nil, false
	}
	lines[len(lines)-1] = unshown(lines[len(lines)-1])
	return notebook.ReplaceNode(c, node, strings.Join(lines, "; ")), true
}

// flat returns the source of a node on one line; ok is false where that cannot be done simply.
func flat(c *notebook.Cell, node syntax.Node) (text string, ok bool) {
	text = c.Text(node)
	if !strings.Contains(text, "\n") {
		return text, text != ""
	}
	if strings.ContainsAny(text, "#\"'\\") {
		return "", false
	}
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, " "), true
}
