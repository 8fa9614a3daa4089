package activity

import (
	"slices"

	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// A cell goes on after its result: IPython's hooks draw inline figures, ipykernel evaluates user_expressions and
// replies. That is a row of its own in the cell, until the front end reports that it is done. Without that report (the
// shell was left with exit, the process ended, another program took over the signals that carry it) the cell ended at
// its result, and the rest is the time between cells.

// CellResult ends a cell's last statement and begins its display and hooks.
func (ac *Activity) CellResult(p *windows.Process, b *event.Boundary) {
	w := ac.Table.Running[b.Cell]
	if w == nil || !w.IsOpen || w.Hooks != nil {
		return
	}
	ac.CloseStatement(b, OutcomeStatus(b.Outcome))
	if w.Status = OutcomeStatus(b.Outcome); b.Outcome == event.OutcomeUnknown {
		w.AddNote(words.OutcomeUnknown)
	}
	w.Failure = ac.failureOf(b)
	w.AtResult = ac.Windows.snapshot(w, b)
	w.Hooks = ac.Windows.Open(p, b, windows.KindStatement, w)
	w.Hooks.Name = model.Hooks
}

// endAtResult ends a cell at its result. The rest becomes the time between cells, which goes on. missed: the front end
// finished with the cell at a time that was not seen. That is a defect where the front end is one that shows this time.
func (ac *Activity) endAtResult(p *windows.Process, w *windows.Window, b *event.Boundary, missed bool) {
	hooks, session := w.Hooks, ac.Processes.SessionOf(p)
	ac.Windows.leave(w)
	ac.blocks.Forgo(w)
	at := w.AtResult
	at.Closing, at.Truncated, at.Source = w.Closing, w.Truncated, w.Source
	*w = *at
	ac.Invariants.left(w)
	ac.Table.Count(w, 1)
	if p.HadCell = true; missed {
		w.Ending = windows.EndingUnreported
	}
	if p.Info.Frontend != "" { // a program without one draws no figures
		w.AddNote(words.NoHooksEnd)
	}
	ac.forgetCell(w)
	if i := slices.Index(p.Open, w); i >= 0 {
		p.Open = slices.Delete(p.Open, i, i+1)
	}
	ac.done = append(ac.done, w)
	if len(p.Open) > 0 { // another thread's cell runs
		ac.Windows.drop(hooks, b)
		return
	}
	p.LastCell, p.Between = w, hooks
	ac.blocks.Forgo(hooks)
	hooks.Kind, hooks.Parent, hooks.Before, hooks.Name = windows.KindBetween, session, w, ""
	p.LastBetween = hooks
	if !ac.blocks.Keeps(windows.KindStatement) {
		ac.Table.Keep(hooks)
	}
	ac.blocks.BecameBetween(hooks)
}
