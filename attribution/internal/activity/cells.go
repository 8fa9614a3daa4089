package activity

import (
	"slices"
	"strings"

	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/internal/words"
	"ipytracer/model"
)

func (ac *Activity) OpenCell(r *windows.Tree, p *windows.Process, b *event.Boundary) {
	parent := ac.Table.Running[b.Outer]
	if parent == nil || !parent.IsOpen {
		parent = ac.Processes.SessionOf(p)
	}
	between := p.Between
	if ac.isFull(r) {
		return
	}
	ac.endBetween(p, b)
	ac.Processes.Kernels.Met(p)
	ac.unseenBefore(p, b, between)
	lateEnd(b, between)
	r.Executions++
	w := ac.Windows.Open(p, b, windows.KindCell, parent)
	w.TID = b.TID
	w.Cell, w.Execution, w.Count = b.Cell, r.Executions, p.CountOf(b)
	if ac.blocks.Keeps(windows.KindCell) {
		w.File, _ = ac.Limits.Keep(b.File, windows.MaxName)
		ac.Files.Add(b.PID, w)
	}
	w.Silent = b.Inputs >= 0 && w.Count < 0
	if b.Late {
		w.Count, w.Silent, w.Late = windows.LateCount(p, b), false, true
		w.Note = windows.NewNote(words.Late)
	}
	if p.Between == nil && len(p.Open) == 0 {
		ac.linkBetween(p, w)
	}
	p.Open = append(p.Open, w)
	ac.Table.Running[b.Cell] = w
}

// isFull reports whether a tree has as many open cells and experiments as there is room for. If so, it counts one
// dropped window.
func (ac *Activity) isFull(r *windows.Tree) bool {
	if len(r.Open) < ac.Limits.Open {
		return false
	}
	ac.Table.Drop()
	return true
}

// CloseCell ends a cell: where the front end is done with it, or at its result if nothing more is reported.
func (ac *Activity) CloseCell(p *windows.Process, b *event.Boundary) {
	w := ac.Table.Running[b.Cell]
	if w == nil || !w.IsOpen {
		return
	}
	if w.Hooks != nil {
		if b.Outcome == event.OutcomeMissed {
			// The request of a first cell may have begun before the tracer was looking.
			first := p.RanCells == 0 && !p.HadCell && p.Info.Late
			ac.endAtResult(p, w, b, p.Info.Frontend != "" && w.IsOwn() && !first)
			return
		}
		ac.Windows.close(w.Hooks, b)
		ac.blocks.Forgo(w.AtResult)
		w.Hooks, w.AtResult, w.Ending = nil, nil, windows.EndingReported
		ac.finishCell(p, w, b)
		return
	}
	ac.CloseStatement(b, OutcomeStatus(b.Outcome))
	w.Status = OutcomeStatus(b.Outcome)
	w.Failure = ac.failureOf(b)
	w.Resultless = !w.Late && (b.Outcome == event.OutcomeOK || b.Outcome == event.OutcomeError)
	switch b.Outcome {
	case event.OutcomeUnknown:
		w.AddNote(words.OutcomeUnknown)
	case event.OutcomeAbandoned:
		w.Note = windows.NewNote(words.GivenUp)
	case event.OutcomeMissed:
		w.Missed = true
		if w.Note = windows.NewNote(words.EndMissed); w.Late {
			w.Note = windows.NewNote(words.LateNoEnd)
		}
	}
	ac.finishCell(p, w, b)
}

// finishCell closes a cell's window and, if no other cell runs, begins the time between cells.
func (ac *Activity) finishCell(p *windows.Process, w *windows.Window, b *event.Boundary) {
	ac.Windows.close(w, b)
	ac.forgetCell(w)
	if i := slices.Index(p.Open, w); i >= 0 {
		p.Open = slices.Delete(p.Open, i, i+1)
	}
	ac.done = append(ac.done, w)
	ac.blocks.CellOver(b.PID, w)
	if len(p.Open) == 0 {
		p.LastCell = w
		p.RanCells++
		ac.StartBetween(p, b)
	}
}

// AbandonCell closes the innermost cell of a process when something other than the cell's own end has ended it.
func (ac *Activity) AbandonCell(p *windows.Process, b *event.Boundary, why words.NoteKind) {
	w := p.Open[len(p.Open)-1]
	if w.Hooks != nil {
		ac.endAtResult(p, w, b, false)
		return
	}
	if s := w.Statement; s != nil {
		s.Status, s.Note = model.Incomplete, windows.NewNote(why)
		ac.Windows.close(s, b)
		w.Statement = nil
	}
	w.Status, w.Note = model.Incomplete, windows.NewNote(why)
	ac.finishCell(p, w, b)
}

// CloseProcess closes everything that is open for a process.
func (ac *Activity) CloseProcess(p *windows.Process, b *event.Boundary, why words.NoteKind) {
	for len(p.Open) > 0 {
		ac.AbandonCell(p, b, why)
	}
	ac.endExperiments(p, b)
	ac.endBetween(p, b)
	for _, w := range []*windows.Window{p.Session, p.Lifetime} {
		if w != nil {
			ac.Windows.close(w, b)
		}
	}
}

// Source gives a cell its text. The text may arrive a while after the cell's end.
func (ac *Activity) Source(e *event.CellSource) {
	w := ac.Table.Running[e.Cell]
	if w == nil {
		w = ac.Table.Closed.Cell(e.Cell)
	}
	if w == nil || w.Slot == 0 && ac.Texts.Recent == nil {
		return
	}
	text, whole := ac.Texts.Keep(e.Text)
	w.Source, w.Truncated = text, e.Truncated || !whole
	if w.Lines = 0; !w.Truncated && e.Text != "" {
		typed := strings.TrimRight(e.Text, "\r\n")
		w.Lines = 1 + strings.Count(typed, "\n") + strings.Count(typed, "\r") - strings.Count(typed, "\r\n")
	}
}
