package activity

import (
	"slices"

	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// A cell goes on after its result: IPython's hooks draw inline figures, ipykernel evaluates user_expressions and
// replies. This part of the cell has a window of its own, Hooks, until the front end reports the end of the cell. The
// report may never come: the user left the shell with exit, the process ended, or another program took over the signals
// that carry the report. Then the cell ended at its result, and Hooks becomes the time between cells.

// CellResult ends a cell's last statement and begins its display and hooks.
func (ac *Activity) CellResult(process *windows.Process, boundary *event.Boundary) {
	window := ac.Table.Running[boundary.Cell]
	if window == nil || !window.IsOpen || window.Hooks != nil {
		return
	}
	ac.CloseStatement(boundary, OutcomeStatus(boundary.Outcome))
	if window.Status = OutcomeStatus(boundary.Outcome); boundary.Outcome == event.OutcomeUnknown {
		window.AddNote(words.OutcomeUnknown)
	}
	window.Failure = ac.failureOf(boundary)
	window.AtResult = ac.Windows.snapshot(window, boundary)
	window.Hooks = ac.Windows.Open(process, boundary, windows.KindStatement, window)
	window.Hooks.Name = model.Hooks
}

// endAtResult ends a cell at its result. The time after it becomes the time between cells, which goes on. missed: the
// front end should have reported the end of the cell.
func (ac *Activity) endAtResult(process *windows.Process, window *windows.Window, boundary *event.Boundary,
	missed bool) {
	hooks, session := window.Hooks, ac.Processes.SessionOf(process)
	ac.Windows.removeOpen(window)
	ac.blocks.Forgo(window)
	atResult := window.AtResult
	atResult.Closing, atResult.Truncated, atResult.Source = window.Closing, window.Truncated, window.Source
	*window = *atResult
	ac.Invariants.check(window)
	ac.Table.CountChildren(window, 1)
	if process.HadCell = true; missed {
		window.Ending = windows.EndingUnreported
	}
	if process.Info.Frontend != "" { // a program without one draws no figures
		window.AddNote(words.NoHooksEnd)
	}
	ac.rememberClosed(window)
	if i := slices.Index(process.Open, window); i >= 0 {
		process.Open = slices.Delete(process.Open, i, i+1)
	}
	ac.done = append(ac.done, window)
	if len(process.Open) > 0 { // another thread's cell runs
		ac.Windows.drop(hooks, boundary)
		return
	}
	process.LastCell, process.Between = window, hooks
	ac.blocks.Forgo(hooks)
	hooks.Kind, hooks.Parent, hooks.Before, hooks.Name = windows.KindBetween, session, window, ""
	process.LastBetween = hooks
	if !ac.blocks.Keeps(windows.KindStatement) {
		ac.Table.Keep(hooks)
	}
	ac.blocks.BecameBetween(hooks)
}
