package attribution

import (
	"slices"

	"ipytracer/event"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// A cell goes on after its result: IPython's hooks draw inline figures, ipykernel evaluates user_expressions and
// replies. That is a row of its own in the cell, until the front end reports that it is done. Without that report (the
// shell was left with exit, the process ended, another program took over the signals that carry it) the cell ended at
// its result, and the rest is the time between cells.

// cellResult ends a cell's last statement and begins its display and hooks.
func (ac *activity) cellResult(p *process, b *event.Boundary) {
	w := ac.table.running[b.Cell]
	if w == nil || !w.isOpen || w.hooks != nil {
		return
	}
	ac.closeStatement(b, outcomeStatus(b.Outcome))
	if w.status = outcomeStatus(b.Outcome); b.Outcome == event.OutcomeUnknown {
		w.addNote(words.OutcomeUnknown)
	}
	w.failure = ac.failureOf(b)
	w.atResult = ac.windows.snapshot(w, b)
	w.hooks = ac.windows.open(p, b, kindStatement, w)
	w.hooks.name = model.Hooks
}

// endAtResult ends a cell at its result. The rest becomes the time between cells, which goes on. missed: the front end
// finished with the cell at a time that was not seen. That is a defect where the front end is one that shows this time.
func (ac *activity) endAtResult(p *process, w *window, b *event.Boundary, missed bool) {
	hooks, session := w.hooks, ac.processes.sessionOf(p)
	ac.windows.leave(w)
	ac.ledger.forgo(w)
	at := w.atResult
	at.closing, at.truncated, at.source = w.closing, w.truncated, w.source
	*w = *at
	ac.invariants.left(w)
	ac.table.count(w, 1)
	if p.hadCell = true; missed {
		w.ending = endingUnreported
	}
	if p.info.Frontend != "" { // a program without one draws no figures
		w.addNote(words.NoHooksEnd)
	}
	ac.forgetCell(w)
	if i := slices.Index(p.open, w); i >= 0 {
		p.open = slices.Delete(p.open, i, i+1)
	}
	ac.done = append(ac.done, w)
	if len(p.open) > 0 { // another thread's cell runs
		ac.windows.drop(hooks, b)
		return
	}
	p.lastCell, p.between = w, hooks
	ac.ledger.forgo(hooks)
	hooks.kind, hooks.parent, hooks.before, hooks.name = kindBetween, session, w, ""
	p.lastGap = hooks
	if !ac.ledger.keeps(kindStatement) {
		ac.table.keep(hooks)
	}
	ac.ledger.becameGap(hooks)
}
