package attribution

import (
	"slices"

	"ipytracer/event"
	"ipytracer/model"
	"ipytracer/model/words"
)

// A cell goes on after its result: IPython's hooks draw inline figures, ipykernel evaluates user_expressions and
// replies. That is a row of its own in the cell, up to the front end's word that it is done. Where that word does not
// come (the shell was left with exit, the process ended, somebody took over the signals that say it) the cell has ended
// at its result, and what came behind it is the time between cells.

// cellResult ends a cell's last statement and begins its display and hooks.
func (ac *activity) cellResult(p *process, b *event.Boundary) {
	w := ac.cells[b.Cell]
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

// endAtResult ends a cell where it had its result. What came behind is the time between, which goes on. missed says
// that its front end was done with it, and nobody saw when: which is amiss if it is one that shows it.
func (ac *activity) endAtResult(p *process, w *window, b *event.Boundary, missed bool) {
	hooks, session := w.hooks, ac.processes.sessionOf(p)
	ac.windows.leave(w)
	ac.ledger.forgo(w)
	at := w.atResult
	at.closing, at.truncated, at.source = w.closing, w.truncated, w.source
	*w = *at
	ac.invariants.left(w)
	ac.table.count(w, 1)
	w.untold = missed
	if p.info.Frontend != "" { // nobody draws figures in a program without one
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
	ac.ledger.becameGap(hooks)
}
