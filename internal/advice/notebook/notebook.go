// Package notebook holds what a session shows about a notebook, for rules of advice. It has the cells with their syntax
// trees, the statements as they ran, the blocks that lived at each high moment and the calls that made them, and the
// variables of the end. A rule finds a [Candidate]; [Notebook.Without] computes from the moments how much lower the
// highest one would be.
//
// Order: each run of a statement has a number, its order, one after another over the whole session. A moment has the
// order of the statement that was running, so "later" is a comparison of orders.
//
// A [Flow] follows the values of names: what may hold a value, besides its name, at a later moment. A statement hands a
// value on where a call gets it, where a container, an attribute or another name has it, and where a view or a
// generator is made of it. The variables of the end show what holds a value then. They show it for an earlier moment,
// too, if nothing that may have held it has let go since: see [Trail.Shown].
package notebook

import (
	"strings"

	"ipytracer/internal/syntax"
	"ipytracer/model"
)

// Bounds on the parts of a session that a notebook keeps.
const (
	maxCells      = 2048
	maxStatements = 1 << 14   // runs of statements
	maxSource     = 128 << 10 // bytes of a cell's source
	maxSources    = 4 << 20   // bytes of all sources together
	maxSites      = 1 << 16
	maxMoments    = 4096
	maxEntries    = 4 << 20 // sites of all moments together, each counted once for each moment
	maxStack      = 64      // calls of a stack; of a deeper one the outermost are kept
)

// Notebook is a session of one kernel.
type Notebook struct {
	Report *model.Report
	PID    int
	Meter  string // by which moments are judged
	Cells  []*Cell
	// Statements are the runs of all statements, by order.
	Statements []*Statement
	// Moments are the session's highest moments, by order.
	Moments []*Moment
	// Peak is the highest moment of the session, or of the cell that [Options.Input] chooses; nil if there is none.
	Peak *Moment
	// Base is the value of the meter when the first cell began.
	Base int64
	// Variables are the kernel's variables at the session's end.
	Variables []model.Variable
	// Dropped: some cells, statements or sites are missing, because a bound was reached.
	Dropped bool

	sites      map[string]*Site
	byNumber   map[int]*Cell
	chosen     func(*Moment) bool
	entries    int       // sites of all moments that their windows did not list
	maxEntries int       // the largest number of entries
	highest    []*Moment // the moments that Options.Input chooses, the highest first
	unlisted   int64     // the height of the highest moment that is not kept
}

// Cell is one run of a cell.
type Cell struct {
	Window *model.Window // without Allocations
	Index  int           // in Notebook.Cells
	Lines  []string      // of the source
	// Tree is nil if the source is cut, or is not Python.
	Tree *syntax.Module
	// Statements are the runs of its statements at the top, by order.
	Statements []*Statement
	// First and Last are the orders of its beginning and its end.
	First, Last int
	Moment      *Moment // the cell's highest moment; nil if one of its statements was as high
}

// Statement is a run of one statement at the top of a cell.
type Statement struct {
	Cell   *Cell
	Window *model.Window // without Allocations
	Order  int
	Line   int
	// Node is the statement's syntax tree; nil if the cell has none.
	Node syntax.Stmt
	// Moment is the highest moment of the run; nil if the run has no figure of the meter.
	Moment *Moment
}

// Source returns the text of the statement, or of its line if there is no tree.
func (s *Statement) Source() string {
	if s.Node != nil {
		return s.Cell.Text(s.Node)
	}
	return s.Cell.Line(s.Line)
}

// End returns the last line of the statement.
func (s *Statement) End() int {
	if s.Node != nil {
		return s.Node.Place().End.Line
	}
	return s.Line
}

// Text returns the source of a node of the cell's tree.
func (c *Cell) Text(node syntax.Node) string { return syntax.Text(c.Window.Source, node) }

// Line returns a line of the cell's source, counted from 1; "" if the cell has no such line.
func (c *Cell) Line(number int) string {
	if number < 1 || number > len(c.Lines) {
		return ""
	}
	return c.Lines[number-1]
}

// Place returns the place of a line of the cell, for the model.
func (c *Cell) Place(line int) *model.PlanPlace {
	w := c.Window
	return &model.PlanPlace{PID: w.PID, Kernel: w.Kernel, Execution: w.Execution, ExecutionCount: w.ExecutionCount,
		Line: line}
}

// StatementAt returns the last run of the statement that a line of the cell belongs to; nil if there is none.
func (c *Cell) StatementAt(line int) *Statement {
	var found *Statement
	for _, s := range c.Statements {
		if s.Line <= line && (found == nil || s.Line >= found.Line) {
			found = s
		}
	}
	return found
}

// Figure returns the figure of the judged meter in a window, with children.
func (n *Notebook) Figure(w *model.Window) (model.Figure, bool) { return w.Together(n.Meter) }

// Variable returns the variable that had a name at the session's end; nil if there is none.
func (n *Notebook) Variable(name string) *model.Variable {
	for i := range n.Variables {
		v := &n.Variables[i]
		if v.Name == name {
			return v
		}
		for _, also := range v.Also {
			if also == name {
				return v
			}
		}
	}
	return nil
}

// CellOf returns a run of a cell by its number in the session; nil if there is none.
func (n *Notebook) CellOf(execution int) *Cell { return n.byNumber[execution] }

// linesOf returns the lines of a source.
func linesOf(source string) []string {
	return strings.Split(strings.ReplaceAll(source, "\r\n", "\n"), "\n")
}

// Moment is the highest moment of a statement's run, or of a cell outside of its statements.
type Moment struct {
	Order     int
	Cell      *Cell      // nil for the time between two cells
	Statement *Statement // nil outside of statements
	// Start, Peak and End are values of the meter, in bytes: when the statement began, at the moment, and when the
	// statement ended.
	Start, Peak, End int64
	// Live are the bytes of each site that lived at the moment. A moment below a quarter of the highest has only sites
	// that changed in its statement: no advice saves so much that the other sites of such a moment matter.
	Live map[*Site]int64
	// Made are the bytes that each site allocated in this statement.
	Made map[*Site]int64
	// Kept are the bytes that each site allocated in this statement less those that it freed, where that is positive.
	Kept map[*Site]int64
	// Count is the number of blocks that each site allocated in this statement.
	Count map[*Site]int64
}

// Site is one stack of calls that allocated blocks of one meter.
type Site struct {
	Meter string
	// Stack has the innermost call first, and at most maxStack of the outermost calls.
	Stack []model.Frame
	// Cell, Statement and Line say which statement of a cell was running: they are those of the stack's outermost call
	// in a cell. Cell is nil if no call is in a cell, and Statement is nil if it is not known.
	Cell      *Cell
	Statement *Statement
	Line      int
}
