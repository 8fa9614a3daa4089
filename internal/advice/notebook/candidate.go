package notebook

import (
	"ipytracer/internal/syntax"
	"ipytracer/model"
)

// Candidate is a change that a rule found.
type Candidate struct {
	Kind string
	// Cell and Line are those that the advice is about.
	Cell  *Cell
	Line  int
	Names []string
	// Title, Changes and Unknown are sentences of package words; see [model.AdviceItem].
	Title            string
	Changes, Unknown []string
	Accuracy         string // one of model.Saves…
	Edits            []model.AdviceEdit
	// Falls returns by how many bytes a moment would be lower, 0 for none. It may be asked for moments in any order.
	Falls func(*Moment) int64
	// Of are the names of groups of memory that the change is about. Of two candidates about the same memory the one
	// that saves more comes first, and the other one only behind all others.
	Of string
}

// Rule finds candidates in a notebook.
type Rule func(*Notebook) []Candidate

// Without returns the highest moment of the chosen stretch if each moment were lower by falls, and that height. The
// moment is nil if it is not known: one of those that are not kept.
func (n *Notebook) Without(falls func(*Moment) int64) (peak int64, at *Moment) {
	peak = n.unlisted
	for _, m := range n.highest {
		if m.Peak <= peak {
			break
		}
		if left := m.Peak - max(0, min(falls(m), m.Peak)); left > peak {
			peak, at = left, m
		}
	}
	return peak, at
}

// Least is the smallest saving that is worth advice, in bytes: a hundredth of the highest moment, and 6 MiB. The C
// library keeps smaller blocks often enough that no figure of the process changes when they are freed.
func (n *Notebook) Least() int64 {
	if n.Peak == nil {
		return leastSaving
	}
	return max(leastSaving, n.Peak.Peak/leastShare)
}

const (
	leastSaving = 6 << 20
	leastShare  = 100 // one in so many
)

// Saves returns by how much lower the highest moment would be. It is 0 if that moment itself falls by less than
// [Notebook.Least].
func (n *Notebook) Saves(falls func(*Moment) int64) int64 {
	if n.Peak == nil || falls(n.Peak) < n.Least() {
		return 0
	}
	peak, _ := n.Without(falls)
	return max(0, n.Peak.Peak-peak)
}

// Insert returns the edits that put lines of code behind a run of a statement, at the same depth. Behind the last
// statement of a cell that shows its value they go in front of the next cell, because a cell shows the value of its
// last statement only. ok is false where there is no such place.
func (n *Notebook) Insert(behind *Statement, text string) (edits []model.AdviceEdit, ok bool) {
	c := behind.Cell
	if c.Tree == nil || behind.Node == nil {
		return nil, false
	}
	body, end := c.Tree.Body, behind.End()
	if body[len(body)-1] == behind.Node && shows(behind) {
		return n.InsertBefore(c.Index+1, text)
	}
	for _, one := range body {
		if p := one.Place(); p.Start.Line == end && p.Start.Offset > behind.Node.Place().Start.Offset {
			return nil, false // both are on one line
		}
	}
	return []model.AdviceEdit{edit(c, end+1, end, text)}, true
}

// InsertBefore returns the edits that put lines of code in front of a cell.
func (n *Notebook) InsertBefore(cell int, text string) (edits []model.AdviceEdit, ok bool) {
	if cell >= len(n.Cells) {
		return nil, false
	}
	c := n.Cells[cell]
	if c.Tree == nil {
		return nil, false
	}
	if !isMagic(c) {
		return []model.AdviceEdit{edit(c, 1, 0, text)}, true
	}
	m, ok := c.Tree.Body[0].(*syntax.Magic)
	if !ok || len(m.Body) == 0 || !onceIn[m.Name()] {
		return nil, false
	}
	return []model.AdviceEdit{edit(c, m.Start.Line+1, m.Start.Line, text)}, true
}

// onceIn are magics that run the rest of their cell once, with its names.
var onceIn = map[string]bool{"time": true, "capture": true, "prun": true}

// Replace returns the edit that puts text in the place of some lines of a cell.
func Replace(c *Cell, from, to int, text string) model.AdviceEdit { return edit(c, from, to, text) }

// ReplaceNode is [ReplacePart]; nil where the node is not in the cell.
func ReplaceNode(c *Cell, node syntax.Node, text string) []model.AdviceEdit {
	p := node.Place()
	if p.Start.Col > len(c.Line(p.Start.Line)) || p.End.Col > len(c.Line(p.End.Line)) {
		return nil
	}
	return []model.AdviceEdit{ReplacePart(c, node, text)}
}

// ReplacePart returns the edit that puts text in the place of a node of a cell, and leaves the rest of its lines.
func ReplacePart(c *Cell, node syntax.Node, text string) model.AdviceEdit {
	p := node.Place()
	first, last := c.Line(p.Start.Line), c.Line(p.End.Line)
	head, tail := first[:min(p.Start.Col, len(first))], last[min(p.End.Col, len(last)):]
	return Replace(c, p.Start.Line, p.End.Line, head+text+tail)
}

func edit(c *Cell, from, to int, text string) model.AdviceEdit {
	return model.AdviceEdit{Execution: c.Window.Execution, ExecutionCount: c.Window.ExecutionCount,
		StartLine: from, EndLine: to, Text: text}
}

// PlaceOf returns a line of a statement's cell.
func PlaceOf(s *Statement, line int) *model.PlanPlace {
	w := s.Cell.Window
	return &model.PlanPlace{PID: w.PID, Kernel: w.Kernel, Execution: w.Execution, ExecutionCount: w.ExecutionCount,
		Line: line}
}
