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
	marked *marked           // nil: experiments that have closed are not kept
	Unseen int64             // cells that In has and that have no window
}

// New returns the activity of a session, which tells l what happens to its windows.
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

// StartBetween opens the window for the time in which no cell of a process runs.
func (ac *Activity) StartBetween(process *windows.Process, boundary *event.Boundary) {
	if process.Between != nil || process.Ended {
		return
	}
	process.Between = ac.Windows.Open(process, boundary, windows.KindBetween, ac.Processes.SessionOf(process))
	process.Between.Before = process.LastCell
}

// endBetween closes that window.
func (ac *Activity) endBetween(process *windows.Process, boundary *event.Boundary) {
	if process.Between != nil {
		ac.Windows.close(process.Between, boundary)
		process.Between = nil
	}
}

// linkBetween records, in the time between cells that just ended, which cell came after it.
func (ac *Activity) linkBetween(p *windows.Process, next *windows.Window) {
	if w := p.LastBetween; w != nil && !w.IsOpen && w.After == nil {
		w.After = next
	}
}

// failureOf returns the type of the exception that ended a cell, "" for none.
func (ac *Activity) failureOf(boundary *event.Boundary) string {
	if boundary.Outcome != event.OutcomeError {
		return ""
	}
	name, _ := ac.Limits.Keep(boundary.Exception, windows.MaxName)
	return name
}

// OutcomeStatus returns the status of a window that ended in this way.
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

// unseenBefore is called when a cell begins. If In has earlier cells that were not seen to begin, it marks the window
// in which these ran. between is the time between cells that ends now; nil if there is none.
func (ac *Activity) unseenBefore(process *windows.Process, boundary *event.Boundary, between *windows.Window) {
	first, last := process.Inputs, boundary.Inputs-2
	if boundary.Late || process.Inputs < 0 || last < first {
		return
	}
	in := between
	switch {
	case len(process.Open) > 0:
		in = process.Open[len(process.Open)-1]
	case process.LastCell != nil && process.LastCell.Missed: // that cell went on until now
		in = process.LastCell
	}
	ac.unseenIn(process, in, first, last)
}

// unseenIn records that cells ran in a window without a window of their own.
func (ac *Activity) unseenIn(process *windows.Process, in *windows.Window, first, last int64) {
	kernel, doubted := process.Kernel(), words.StartProbes
	ac.Unseen += last - first + 1
	if in != nil {
		in.Note = in.Note.And(words.Note{Kind: words.RanUnseen, First: first, Last: last, Name: kernel})
		if in.Kind == windows.KindCell {
			doubted = words.EndProbes
		}
	}
	ac.Problems.Add(words.Problem{Kind: words.WindowsUnseen, PID: int(process.Info.PID), First: first, Last: last,
		Name: kernel, Doubted: doubted})
}

// KeepExperiments keeps the experiments that close from now on, for [Activity.TakeExperiments].
func (ac *Activity) KeepExperiments() { ac.marked = &marked{} }

// TakeExperiments returns the experiments that closed since the last call, and how many had no room, by process.
func (ac *Activity) TakeExperiments() (all []*windows.Window, lost map[int32]int) {
	if ac.marked == nil {
		return nil, nil
	}
	taken := *ac.marked
	*ac.marked = marked{}
	return taken.all, taken.lost
}

// marked are experiments that have closed, and have not been taken.
type marked struct {
	all  []*windows.Window
	lost map[int32]int // those without room, by process
}

// MaxUnfetched is the most experiments that wait to be handed out: a process can end any number of them at a time.
const MaxUnfetched = 1 << 12

func (m *marked) add(window *windows.Window) {
	if len(m.all) < MaxUnfetched {
		m.all = append(m.all, window)
		return
	}
	if m.lost == nil {
		m.lost = map[int32]int{}
	}
	m.lost[window.Process.Info.PID]++
}
