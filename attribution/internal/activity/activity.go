// Package activity opens and closes the windows of a session: cells, statements, experiments, and the time between
// cells. It checks them against the counts that IPython has.
package activity

import (
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// Activity follows the code that runs in the processes: cells, statements, experiments, and the time between cells.
type Activity struct {
	*windows.State
	Windows    *Opener
	Invariants *Invariants
	Requests   *Requests
	blocks     Blocks

	done   []*windows.Window // cells that closed since the last Finished
	Marked *Marked           // experiments that closed since the last [Monitor.Experiments]; nil: not kept
	Unseen int64             // cells that In has and that have no window
}

// New returns the activity of a session, with a blocks of its blocks.
func New(s *windows.State, l Blocks) *Activity {
	checks := &Invariants{}
	return &Activity{
		State: s, Windows: &Opener{State: s, invariants: checks, blocks: l}, Invariants: checks,
		Requests: &Requests{State: s}, blocks: l,
	}
}

// TakeDone returns the cells that closed since the last call.
func (ac *Activity) TakeDone() []*windows.Window {
	done := ac.done
	ac.done = nil
	return done
}

// forgetCell records that a cell is over. Its text may still arrive.
func (ac *Activity) forgetCell(w *windows.Window) {
	delete(ac.Table.Running, w.Cell)
	ac.Table.Closed.Remember(w)
}

// StartBetween and endBetween begin and end the window for the time in which no cell of a process runs.
func (ac *Activity) StartBetween(p *windows.Process, b *event.Boundary) {
	if p.Between != nil || p.Ended {
		return
	}
	p.Between = ac.Windows.Open(p, b, windows.KindBetween, ac.Processes.SessionOf(p))
	p.Between.Before = p.LastCell
}

func (ac *Activity) endBetween(p *windows.Process, b *event.Boundary) {
	if p.Between != nil {
		ac.Windows.close(p.Between, b)
		p.Between = nil
	}
}

// linkBetween records, in the time between cells that just ended, which cell came after it.
func (ac *Activity) linkBetween(p *windows.Process, next *windows.Window) {
	if w := p.LastBetween; w != nil && !w.IsOpen && w.After == nil {
		w.After = next
	}
}

// failureOf returns the type of the exception that ended a cell, "" for none.
func (ac *Activity) failureOf(b *event.Boundary) string {
	if b.Outcome != event.OutcomeError {
		return ""
	}
	name, _ := ac.Limits.Keep(b.Exception, windows.MaxName)
	return name
}

func OutcomeStatus(o event.Outcome) string {
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
// begin. between is the time between cells that ends there, nil if there is none.
func (ac *Activity) unseenBefore(p *windows.Process, b *event.Boundary, between *windows.Window) {
	first, last := p.Inputs, b.Inputs-2
	if b.Late || p.Inputs < 0 || last < first {
		return
	}
	in := between
	switch {
	case len(p.Open) > 0:
		in = p.Open[len(p.Open)-1]
	case p.LastCell != nil && p.LastCell.Missed: // that cell went on until now
		in = p.LastCell
	}
	ac.unseenIn(p, in, first, last)
}

// unseenIn records that cells ran in a window without a window of their own.
func (ac *Activity) unseenIn(p *windows.Process, in *windows.Window, first, last int64) {
	kernel, doubted := p.Kernel(), words.StartProbes
	ac.Unseen += last - first + 1
	if in != nil {
		in.Note = in.Note.And(words.Note{Kind: words.RanUnseen, First: first, Last: last, Name: kernel})
		if in.Kind == windows.KindCell {
			doubted = words.EndProbes
		}
	}
	ac.Problems.Add(words.Problem{Kind: words.WindowsUnseen, PID: int(p.Info.PID), First: first, Last: last,
		Name: kernel, Doubted: doubted})
}

// Marked are experiments of a [Monitor] that have closed, and have not been handed out.
type Marked struct {
	All  []*windows.Window
	Lost map[int32]int // those without room, by process
}

// MaxUnfetched is the most experiments that wait to be handed out: a process can end any number of them at a time.
const MaxUnfetched = 1 << 12

func (m *Marked) add(w *windows.Window) {
	if len(m.All) < MaxUnfetched {
		m.All = append(m.All, w)
		return
	}
	if m.Lost == nil {
		m.Lost = map[int32]int{}
	}
	m.Lost[w.Process.Info.PID]++
}
