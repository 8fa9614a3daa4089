package attribution

import (
	"ipytracer/event"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// activity follows the code that runs in the processes: cells, statements, experiments, and the time between cells.
type activity struct {
	*state
	windows    *opener
	invariants *invariants
	ledger     ledger

	done   []*window // cells that closed since the last Finished
	marked *marked   // experiments that closed since the last [Monitor.Experiments]; nil: not kept
	unseen int64     // cells that In has and that have no window
}

// takeDone returns the cells that closed since the last call.
func (ac *activity) takeDone() []*window {
	done := ac.done
	ac.done = nil
	return done
}

// forgetCell records that a cell is over. Its text may still arrive.
func (ac *activity) forgetCell(w *window) {
	delete(ac.table.running, w.cell)
	ac.table.closed.remember(w)
}

// startBetween and endBetween begin and end the window for the time in which no cell of a process runs.
func (ac *activity) startBetween(p *process, b *event.Boundary) {
	if p.between != nil || p.ended {
		return
	}
	p.between = ac.windows.open(p, b, kindBetween, ac.processes.sessionOf(p))
	p.between.before = p.lastCell
}

func (ac *activity) endBetween(p *process, b *event.Boundary) {
	if p.between != nil {
		ac.windows.close(p.between, b)
		p.between = nil
	}
}

// linkBetween records, in the time between cells that just ended, which cell came after it.
func (ac *activity) linkBetween(p *process, next *window) {
	if w := p.lastGap; w != nil && !w.isOpen && w.after == nil {
		w.after = next
	}
}

// failureOf returns the type of the exception that ended a cell, "" for none.
func (ac *activity) failureOf(b *event.Boundary) string {
	if b.Outcome != event.OutcomeError {
		return ""
	}
	name, _ := ac.limits.keep(b.Exception, maxName)
	return name
}

func outcomeStatus(o event.Outcome) string {
	switch o {
	case event.OutcomeError:
		return model.Error
	case event.OutcomeInterrupted, event.OutcomeAbandoned:
		return model.Interrupted
	case event.OutcomeMissed, event.OutcomeUnknown:
		return model.Incomplete
	}
	return model.OK
}

// unseenBefore marks, when the next cell begins, the window in which cells ran that are in In but were not seen to
// begin. gap is the time between cells that ends there, nil if there is none.
func (ac *activity) unseenBefore(p *process, b *event.Boundary, gap *window) {
	first, last := p.inputs, b.Inputs-2
	if b.Late || p.inputs < 0 || last < first {
		return
	}
	in := gap
	switch {
	case len(p.open) > 0:
		in = p.open[len(p.open)-1]
	case p.lastCell != nil && p.lastCell.missed: // that cell went on until now
		in = p.lastCell
	}
	ac.unseenIn(p, in, first, last)
}

// unseenIn records that cells ran in a window without a window of their own.
func (ac *activity) unseenIn(p *process, in *window, first, last int64) {
	kernel, doubted := p.kernel(), words.StartProbes
	ac.unseen += last - first + 1
	if in != nil {
		in.note = in.note.and(words.Note{Kind: words.RanUnseen, First: first, Last: last, Name: kernel})
		if in.kind == kindCell {
			doubted = words.EndProbes
		}
	}
	ac.problems.add(words.Problem{Kind: words.WindowsUnseen, PID: int(p.info.PID), First: first, Last: last,
		Name: kernel, Doubted: doubted})
}
