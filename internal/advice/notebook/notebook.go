// Package notebook holds what a session shows about a notebook, for rules of advice: the cells with their syntax trees,
// the statements as they ran, the blocks that lived at each high moment and the calls that made them, and the variables
// of the end. A rule finds a [Candidate]; [Notebook.Without] computes from the moments how much lower the highest one
// would be.
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

// Bounds on the parts of a session that are kept.
const (
	maxCells      = 2048
	maxStatements = 1 << 14 // runs of statements
	maxSource     = 128 << 10
	maxSources    = 4 << 20 // bytes of all of them
	maxSites      = 1 << 16
	maxMoments    = 4096
	maxEntries    = 4 << 20 // sites of all moments
	maxStack      = 64      // calls of a stack that are kept, the outermost of them
)

// Notebook is a session of one kernel.
type Notebook struct {
	Report *model.Report
	PID    int
	Meter  string // by which moments are judged
	Cells  []*Cell
	// Statements are the runs of all statements, by order.
	Statements []*Statement
	// Moments are the highest ones, by order.
	Moments []*Moment
	// Peak is the highest moment of the chosen stretch; nil if there is none.
	Peak *Moment
	// Base is the value of the meter when the first cell began.
	Base int64
	// Variables are those of the kernel at the end.
	Variables []model.Variable
	// Dropped: there was no room for all cells, statements or sites.
	Dropped bool

	sites    map[string]*Site
	byNumber map[int]*Cell
	chosen   func(*Moment) bool
	entries  int       // of moments: sites that stood there
	room     int       // for them
	highest  []*Moment // those of the chosen stretch, the highest first
	unlisted int64     // the highest of the moments that are not kept
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
	Moment      *Moment // outside of its statements; nil if a statement was higher
}

// Statement is a run of one statement at the top of a cell.
type Statement struct {
	Cell   *Cell
	Window *model.Window // without Allocations
	Order  int
	Line   int
	// Node is its tree; nil if the cell has none.
	Node syntax.Stmt
	// Moment is its highest; nil if it has no figure of the meter.
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

// Line returns a line of the cell, from 1; "" if there is none.
func (c *Cell) Line(number int) string {
	if number < 1 || number > len(c.Lines) {
		return ""
	}
	return c.Lines[number-1]
}

// Place returns a line of the cell.
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

// Variable returns a variable of the end by its name; nil if there is none.
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
	Start     int64      // of the meter, when the statement began
	Peak, End int64
	// Live are the bytes of each site that lived at that moment.
	// A moment below a quarter of the highest has only those that moved in its statement: no advice saves so much that
	// the others matter.
	Live map[*Site]int64
	// Made are the bytes that each site allocated in this statement, Kept those of them that outlived it, on balance.
	Made, Kept map[*Site]int64
	// Count is the number of blocks that each site allocated in this statement.
	Count map[*Site]int64
}

// Site is one stack of calls that allocated blocks of one meter.
type Site struct {
	Meter string
	// Stack has the innermost call first, the outermost calls if there are many.
	Stack []model.Frame
	// Cell, Statement and Line are those of the outermost line of a cell on the stack: the statement that was running.
	// Cell is nil if there is none, Statement if it is not known.
	Cell      *Cell
	Statement *Statement
	Line      int
}
