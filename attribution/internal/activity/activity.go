// Package activity opens and closes the windows of a session. Windows are cells, statements, experiments, and the time
// between cells. The package compares the windows with IPython's own counts.
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

	done        []*windows.Window  // cells that closed since the last TakeDone
	experiments *closedExperiments // nil if closed experiments are not kept
	Unseen      int64              // number of cells in IPython's In that have no window
}

// New returns the activity of a session. It reports to l what happens to windows.
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

// rememberClosed moves a cell from the running to the closed ones. Its text may still arrive.
func (ac *Activity) rememberClosed(w *windows.Window) {
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

// endBetween closes the window that StartBetween opened.
func (ac *Activity) endBetween(process *windows.Process, boundary *event.Boundary) {
	if process.Between != nil {
		ac.Windows.close(process.Between, boundary)
		process.Between = nil
	}
}

// linkBetween records the cell that came after the time between cells that just ended.
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

// OutcomeStatus returns the status of a window that ended with an outcome.
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

// unseenBefore is called when a cell begins. If IPython's In shows earlier cells whose beginning was not seen, it marks
// the window in which they ran. between is the time between cells that ends now; nil if there is none.
func (ac *Activity) unseenBefore(process *windows.Process, boundary *event.Boundary, between *windows.Window) {
	first, last := process.Inputs, boundary.Inputs-2 // In[last] is the cell before the one that begins
	if boundary.Late || process.Inputs < 0 || last < first {
		return
	}
	around := between
	switch {
	case len(process.Open) > 0:
		around = process.Open[len(process.Open)-1]
	case process.LastCell != nil && process.LastCell.Missed: // that cell went on until now
		around = process.LastCell
	}
	ac.unseenIn(process, around, first, last)
}

// unseenIn records that the cells In[first] to In[last] ran without windows of their own. around is the window in which
// they ran, nil if unknown.
func (ac *Activity) unseenIn(process *windows.Process, around *windows.Window, first, last int64) {
	kernel, doubted := process.Kernel(), words.StartProbes
	ac.Unseen += last - first + 1
	if around != nil {
		around.Note = around.Note.And(words.Note{Kind: words.RanUnseen, First: first, Last: last, Name: kernel})
		if around.Kind == windows.KindCell {
			doubted = words.EndProbes
		}
	}
	ac.Problems.Add(words.Problem{Kind: words.WindowsUnseen, PID: int(process.Info.PID), First: first, Last: last,
		Name: kernel, Doubted: doubted})
}

// KeepExperiments keeps the experiments that close from now on, for [Activity.TakeExperiments].
func (ac *Activity) KeepExperiments() { ac.experiments = &closedExperiments{} }

// TakeExperiments returns the experiments that closed since the last call. lost counts, by pid, the experiments that
// found no room.
func (ac *Activity) TakeExperiments() (closed []*windows.Window, lost map[int32]int) {
	if ac.experiments == nil {
		return nil, nil
	}
	taken := *ac.experiments
	*ac.experiments = closedExperiments{}
	return taken.all, taken.lost
}

// marked are experiments that closed since the last [Activity.TakeExperiments].
type closedExperiments struct {
	all  []*windows.Window
	lost map[int32]int // number of experiments without room, by pid
}

// MaxUnfetched bounds the experiments that wait to be taken: a process can end any number of them at once.
const MaxUnfetched = 1 << 12

func (m *closedExperiments) add(window *windows.Window) {
	if len(m.all) < MaxUnfetched {
		m.all = append(m.all, window)
		return
	}
	if m.lost == nil {
		m.lost = map[int32]int{}
	}
	m.lost[window.Process.Info.PID]++
}
