package activity

import (
	"slices"
	"strings"

	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// OpenCell begins a cell, and ends the time between cells.
func (ac *Activity) OpenCell(tree *windows.Tree, process *windows.Process, boundary *event.Boundary) {
	parent := ac.Table.Running[boundary.Outer]
	if parent == nil || !parent.IsOpen {
		parent = ac.Processes.SessionOf(process)
	}
	between := process.Between
	if ac.isFull(tree) {
		return
	}
	ac.endBetween(process, boundary)
	ac.Processes.Kernels.Add(process)
	ac.unseenBefore(process, boundary, between)
	markLateEnd(boundary, between)
	tree.Executions++
	window := ac.Windows.Open(process, boundary, windows.KindCell, parent)
	window.TID = boundary.TID
	window.Cell, window.Execution, window.Count = boundary.Cell, tree.Executions, process.CountOf(boundary)
	window.Name, _ = ac.Limits.Keep(words.MarimoCell(boundary.File), windows.MaxName)
	if ac.blocks.Keeps(windows.KindCell) {
		window.File, _ = ac.Limits.Keep(boundary.File, windows.MaxName)
		ac.Files.Add(boundary.PID, window)
	}
	window.Silent = boundary.Inputs >= 0 && window.Count < 0
	if boundary.Late {
		window.Count, window.Silent, window.Late = windows.LateCount(process, boundary), false, true
		window.Note = windows.NewNote(words.Late)
	}
	if process.Between == nil && len(process.Open) == 0 {
		ac.linkBetween(process, window)
	}
	process.Open = append(process.Open, window)
	ac.Table.Running[boundary.Cell] = window
}

// isFull reports whether a tree has as many open cells and experiments as there is room for. If so, it counts one
// dropped window.
func (ac *Activity) isFull(tree *windows.Tree) bool {
	if len(tree.Open) < ac.Limits.Open {
		return false
	}
	ac.Table.Drop()
	return true
}

// CloseCell ends a cell at the boundary that the front end's report of its end drew. A cell whose end was missed ends
// at its result, if that was seen.
func (ac *Activity) CloseCell(process *windows.Process, boundary *event.Boundary) {
	window := ac.Table.Running[boundary.Cell]
	if window == nil || !window.IsOpen {
		return
	}
	if window.Hooks != nil {
		ac.closeHooks(process, window, boundary)
		return
	}
	ac.CloseStatement(boundary, OutcomeStatus(boundary.Outcome))
	window.Status = OutcomeStatus(boundary.Outcome)
	window.Failure = ac.failureOf(boundary)
	window.Resultless = !window.Late && (boundary.Outcome == event.OutcomeOK || boundary.Outcome == event.OutcomeError)
	switch boundary.Outcome {
	case event.OutcomeUnknown:
		window.AddNote(words.OutcomeUnknown)
	case event.OutcomeAbandoned:
		window.Note = windows.NewNote(words.GivenUp)
	case event.OutcomeMissed:
		window.Missed = true
		if window.Note = windows.NewNote(words.EndMissed); window.Late {
			window.Note = windows.NewNote(words.LateNoEnd)
		}
	}
	ac.finishCell(process, window, boundary)
}

// closeHooks ends a cell that has had its result and whose hooks run.
func (ac *Activity) closeHooks(process *windows.Process, window *windows.Window, boundary *event.Boundary) {
	if boundary.Outcome == event.OutcomeMissed {
		// The request of a first cell may have begun before the tracer was looking.
		mayBeEarlier := process.RanCells == 0 && !process.HadCell && process.Info.Late
		missed := process.Info.Frontend != "" && window.IsOwn() && !mayBeEarlier
		ac.endAtResult(process, window, boundary, missed)
		return
	}
	ac.Windows.close(window.Hooks, boundary)
	ac.blocks.Forgo(window.AtResult)
	window.Hooks, window.AtResult, window.Ending = nil, nil, windows.EndingReported
	ac.finishCell(process, window, boundary)
}

// finishCell closes a cell's window and, if no other cell runs, begins the time between cells.
func (ac *Activity) finishCell(process *windows.Process, window *windows.Window, boundary *event.Boundary) {
	ac.Windows.close(window, boundary)
	ac.rememberClosed(window)
	if i := slices.Index(process.Open, window); i >= 0 {
		process.Open = slices.Delete(process.Open, i, i+1)
	}
	ac.done = append(ac.done, window)
	ac.blocks.CellOver(boundary.PID, window)
	if len(process.Open) == 0 {
		process.LastCell = window
		process.RanCells++
		ac.StartBetween(process, boundary)
	}
}

// AbandonCell closes the innermost cell of a process for a reason other than the cell's own end.
func (ac *Activity) AbandonCell(process *windows.Process, boundary *event.Boundary, why words.NoteKind) {
	window := process.Open[len(process.Open)-1]
	if window.Hooks != nil {
		ac.endAtResult(process, window, boundary, false)
		return
	}
	if s := window.Statement; s != nil {
		s.Status, s.Note = model.Incomplete, windows.NewNote(why)
		ac.Windows.close(s, boundary)
		window.Statement = nil
	}
	window.Status, window.Note = model.Incomplete, windows.NewNote(why)
	ac.finishCell(process, window, boundary)
}

// CloseProcess closes everything that is open for a process.
func (ac *Activity) CloseProcess(process *windows.Process, boundary *event.Boundary, why words.NoteKind) {
	for len(process.Open) > 0 {
		ac.AbandonCell(process, boundary, why)
	}
	ac.endExperiments(process, boundary)
	ac.endBetween(process, boundary)
	for _, w := range []*windows.Window{process.Session, process.Lifetime} {
		if w != nil {
			ac.Windows.close(w, boundary)
		}
	}
}

// Source gives a cell its text. The text may arrive a while after the cell's end.
func (ac *Activity) Source(e *event.CellSource) {
	window := ac.Table.Running[e.Cell]
	if window == nil {
		window = ac.Table.Closed.Cell(e.Cell)
	}
	if window == nil || window.Slot == 0 && ac.Texts.Recent == nil {
		return
	}
	text, whole := ac.Texts.Keep(e.Text)
	window.Source, window.Truncated = text, e.Truncated || !whole
	window.Lines = 0
	if !window.Truncated && e.Text != "" {
		window.Lines = linesOf(strings.TrimRight(e.Text, "\r\n"))
	}
}

// linesOf returns the number of lines of a text. Lines end with \n, \r or \r\n, as in Python.
func linesOf(text string) int {
	ends := strings.Count(text, "\n") + strings.Count(text, "\r") - strings.Count(text, "\r\n")
	return ends + 1
}
