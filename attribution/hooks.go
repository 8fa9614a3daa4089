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
func (t *Tracker) cellResult(p *process, b *event.Boundary) {
	w := t.cells[b.Cell]
	if w == nil || !w.isOpen || w.hooks != nil {
		return
	}
	t.closeStatement(b, outcomeStatus(b.Outcome))
	if w.status = outcomeStatus(b.Outcome); b.Outcome == event.OutcomeUnknown {
		w.addNote(words.OutcomeUnknown)
	}
	w.failure = t.failureOf(b)
	w.atResult = t.snapshot(w, b)
	w.hooks = t.openWindow(p, b, kindStatement, w)
	w.hooks.name = model.Hooks
}

// snapshot is a window as it is if it ends at a boundary whose segment it has seen.
func (t *Tracker) snapshot(w *window, b *event.Boundary) *window {
	s, d := *w, *w.detail
	s.detail = &d
	if w.doubts != nil {
		doubts := *w.doubts
		s.doubts = &doubts
	}
	s.refused, s.refusedBy = slices.Clone(w.refused), slices.Clone(w.refusedBy)
	if w.tallies != nil {
		s.tallies = make(map[event.Meter]*tallies, len(w.tallies))
		for m, all := range w.tallies {
			s.tallies[m] = all.clone()
			t.allocations.entries += all.len()
		}
	}
	t.end(&s, b)
	t.stand(&s)
	t.table.count(&s, -1)
	return &s
}

// forgo lets the tallies of a window go.
func (t *Tracker) forgo(w *window) {
	for _, all := range w.tallies {
		t.allocations.entries -= all.len()
	}
	w.tallies = nil
}

func (all *tallies) clone() *tallies {
	out := &tallies{byStack: make(map[uint64]*tally, len(all.byStack)), cold: all.cold.clone(), coolAt: all.coolAt,
		highest: all.highest, first: all.first, byValue: all.byValue, value: all.value}
	for stack, y := range all.byStack {
		y := *y
		out.byStack[stack] = &y
	}
	for _, y := range all.moved {
		out.moved = append(out.moved, out.byStack[y.stack])
	}
	return out
}

// endAtResult ends a cell where it had its result. What came behind is the time between, which goes on. missed says
// that its front end was done with it, and nobody saw when: which is amiss if it is one that shows it.
func (t *Tracker) endAtResult(p *process, w *window, b *event.Boundary, missed bool) {
	hooks, session := w.hooks, t.processes.sessionOf(p)
	t.leave(w)
	t.forgo(w)
	at := w.atResult
	at.closing, at.truncated, at.source = w.closing, w.truncated, w.source
	*w = *at
	t.invariants.left(w)
	t.table.count(w, 1)
	w.untold = missed
	if p.info.Frontend != "" { // nobody draws figures in a program without one
		w.addNote(words.NoHooksEnd)
	}
	t.forgetCell(w)
	if i := slices.Index(p.open, w); i >= 0 {
		p.open = slices.Delete(p.open, i, i+1)
	}
	t.done = append(t.done, w)
	if len(p.open) > 0 { // another thread's cell runs
		t.drop(hooks, b)
		return
	}
	p.lastCell, p.between = w, hooks
	t.forgo(hooks)
	hooks.kind, hooks.parent, hooks.before, hooks.name = kindBetween, session, w, ""
	p.lastGap = hooks
	if t.audit != nil {
		*hooks.birth = birth{}
		t.table.statements--
		t.keep(hooks)
	}
}

// drop takes a statement out again.
func (t *Tracker) drop(w *window, b *event.Boundary) {
	w.dropped = true
	t.closeWindow(w, b)
}
