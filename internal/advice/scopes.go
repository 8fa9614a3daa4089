package advice

import (
	"ipytracer/internal/advice/notebook"
	"ipytracer/internal/syntax"
)

// scope is the body of a function, or of a cell.
type scope struct {
	function *syntax.FunctionDef // nil for a cell
	body     []syntax.Stmt
}

// scopesOf returns the cell and all functions in it.
func scopesOf(m *syntax.Module) []scope {
	all := []scope{{nil, m.Body}}
	for n := range syntax.All[syntax.Node](m) {
		if f, ok := n.(*syntax.FunctionDef); ok {
			all = append(all, scope{f, f.Body})
		}
	}
	return all
}

// inGraph reports whether PyTorch's graph may hold memory that a statement allocates: it makes tensors, and gradients
// are on.
func (s scope) inGraph(n *notebook.Notebook, cell *notebook.Cell, made syntax.Stmt) bool {
	if s.function != nil && notebook.GradientsOff(s.function) {
		return false
	}
	p := made.Place()
	for _, stmt := range s.body {
		if syntax.Any(stmt, func(w *syntax.With) bool {
			return notebook.GradientsOff(w) && w.Start.Offset < p.Start.Offset && w.End.Offset >= p.End.Offset
		}) {
			return false
		}
	}
	for site := range n.Peak.Live {
		if site.OfTensors() && site.On(cell, s.name(), p.Start.Line, p.End.Line) {
			return true
		}
	}
	return false
}

// name returns the name of the function as stacks name it.
func (s scope) name() string {
	if s.function == nil {
		return "<module>"
	}
	return s.function.Name
}

// spotIn returns the spot of statement at of a body. It knows no blocks around the body.
func spotIn(c *notebook.Cell, body []syntax.Stmt, at int) notebook.Spot {
	return notebook.Spot{Cell: c, Stmt: body[at], Blocks: []notebook.Block{{Stmts: body, At: at}}}
}
