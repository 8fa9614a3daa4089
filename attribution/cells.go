package attribution

import (
	"slices"
	"strings"

	"ipytracer/event"
	"ipytracer/internal/words"
	"ipytracer/model"
)

func (ac *activity) openCell(r *root, p *process, b *event.Boundary) {
	parent := ac.table.running[b.Outer]
	if parent == nil || !parent.isOpen {
		parent = ac.processes.sessionOf(p)
	}
	gap := p.between
	if ac.isFull(r) {
		return
	}
	ac.endBetween(p, b)
	ac.processes.kernels.met(p)
	ac.unseenBefore(p, b, gap)
	lateEnd(b, gap)
	r.executions++
	w := ac.windows.open(p, b, kindCell, parent)
	w.tid = b.TID
	w.cell, w.execution, w.count = b.Cell, r.executions, p.countOf(b)
	if ac.ledger.keeps(kindCell) {
		w.file, _ = ac.limits.keep(b.File, maxName)
		ac.files.add(b.PID, w)
	}
	w.silent = b.Inputs >= 0 && w.count < 0
	if b.Late {
		w.count, w.silent, w.late = lateCount(p, b), false, true
		w.note = alone(words.Late)
	}
	if p.between == nil && len(p.open) == 0 {
		ac.linkBetween(p, w)
	}
	p.open = append(p.open, w)
	ac.table.running[b.Cell] = w
}

// isFull reports whether a tree has as many open cells and experiments as there is room for. If so, it counts one
// dropped window.
func (ac *activity) isFull(r *root) bool {
	if len(r.open) < ac.limits.open {
		return false
	}
	ac.table.drop()
	return true
}

// closeCell ends a cell: where the front end is done with it, or at its result if nothing more is reported.
func (ac *activity) closeCell(p *process, b *event.Boundary) {
	w := ac.table.running[b.Cell]
	if w == nil || !w.isOpen {
		return
	}
	if w.hooks != nil {
		if b.Outcome == event.OutcomeMissed {
			// The request of a first cell may have begun before the tracer was looking.
			first := p.ranCells == 0 && !p.hadCell && p.info.Late
			ac.endAtResult(p, w, b, p.info.Frontend != "" && w.isOwn() && !first)
			return
		}
		ac.windows.close(w.hooks, b)
		ac.ledger.forgo(w.atResult)
		w.hooks, w.atResult, w.ending = nil, nil, endingReported
		ac.finishCell(p, w, b)
		return
	}
	ac.closeStatement(b, outcomeStatus(b.Outcome))
	w.status = outcomeStatus(b.Outcome)
	w.failure = ac.failureOf(b)
	w.resultless = !w.late && (b.Outcome == event.OutcomeOK || b.Outcome == event.OutcomeError)
	switch b.Outcome {
	case event.OutcomeUnknown:
		w.addNote(words.OutcomeUnknown)
	case event.OutcomeAbandoned:
		w.note = alone(words.GivenUp)
	case event.OutcomeMissed:
		w.missed = true
		if w.note = alone(words.EndMissed); w.late {
			w.note = alone(words.LateNoEnd)
		}
	}
	ac.finishCell(p, w, b)
}

// finishCell closes a cell's window and, if no other cell runs, begins the time between cells.
func (ac *activity) finishCell(p *process, w *window, b *event.Boundary) {
	ac.windows.close(w, b)
	ac.forgetCell(w)
	if i := slices.Index(p.open, w); i >= 0 {
		p.open = slices.Delete(p.open, i, i+1)
	}
	ac.done = append(ac.done, w)
	ac.ledger.cellOver(b.PID, w)
	if len(p.open) == 0 {
		p.lastCell = w
		p.ranCells++
		ac.startBetween(p, b)
	}
}

// abandonCell closes the innermost cell of a process when something other than the cell's own end has ended it.
func (ac *activity) abandonCell(p *process, b *event.Boundary, why words.NoteKind) {
	w := p.open[len(p.open)-1]
	if w.hooks != nil {
		ac.endAtResult(p, w, b, false)
		return
	}
	if s := w.statement; s != nil {
		s.status, s.note = model.Incomplete, alone(why)
		ac.windows.close(s, b)
		w.statement = nil
	}
	w.status, w.note = model.Incomplete, alone(why)
	ac.finishCell(p, w, b)
}

// closeProcess closes everything that is open for a process.
func (ac *activity) closeProcess(p *process, b *event.Boundary, why words.NoteKind) {
	for len(p.open) > 0 {
		ac.abandonCell(p, b, why)
	}
	ac.endExperiments(p, b)
	ac.endBetween(p, b)
	for _, w := range []*window{p.session, p.whole} {
		if w != nil {
			ac.windows.close(w, b)
		}
	}
}

// source gives a cell its text. The text may arrive a while after the cell's end.
func (ac *activity) source(e *event.CellSource) {
	w := ac.table.running[e.Cell]
	if w == nil {
		w = ac.table.closed.cell(e.Cell)
	}
	if w == nil || w.slot == 0 && ac.texts.typed == nil {
		return
	}
	text, whole := ac.texts.keep(e.Text)
	w.source, w.truncated = text, e.Truncated || !whole
	if w.lines = 0; !w.truncated && e.Text != "" {
		typed := strings.TrimRight(e.Text, "\r\n")
		w.lines = 1 + strings.Count(typed, "\n") + strings.Count(typed, "\r") - strings.Count(typed, "\r\n")
	}
}
