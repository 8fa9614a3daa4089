package activity

import (
	"slices"

	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// BeginExperiment begins an experiment, or counts one that finds no room.
func (ac *Activity) BeginExperiment(tree *windows.Tree, process *windows.Process, boundary *event.Boundary) {
	experiments := &process.Experiments
	name, _ := ac.Limits.Keep(boundary.Experiment, windows.MaxName)
	if len(tree.Open) >= ac.Limits.Open {
		ac.Limits.Unpaired++
		if experiments.Refused == nil {
			experiments.Refused = map[string]int{}
		}
		if _, known := experiments.Refused[name]; !known && len(experiments.Refused) >= ac.Limits.Open {
			experiments.Crowded = true
			return
		}
		experiments.Refused[name]++
		return
	}
	window := ac.Windows.Open(process, boundary, windows.KindExperiment, ac.Processes.SessionOf(process))
	window.Name = name
	if experiments.ByName == nil {
		experiments.ByName = map[string][]*windows.Window{}
	}
	experiments.ByName[name] = append(experiments.ByName[name], window)
	experiments.Open++
}

// EndExperiment ends the newest experiment of a name. An experiment that found no room when it began has no window to
// close.
func (ac *Activity) EndExperiment(process *windows.Process, boundary *event.Boundary) {
	experiments := &process.Experiments
	name, _ := ac.Limits.Keep(boundary.Experiment, windows.MaxName)
	if experiments.Refused[name] > 0 {
		experiments.Refused[name]--
		return
	}
	named := experiments.ByName[name]
	if len(named) == 0 {
		// The kernel half may have refused the begin. The report tells of refused markers already.
		mayHaveBegun := ac.Processes.Tree(boundary.Root).Doubts.Refused[event.RefusedMarkers] != 0
		if !mayHaveBegun {
			ac.Problems.Add(words.Problem{Kind: words.NotBegun, PID: int(boundary.PID), Name: boundary.Experiment})
		}
		return
	}
	window, others := named[len(named)-1], named[:len(named)-1]
	if experiments.Crowded { // the end may belong to an experiment without a window
		window.Status, window.Doubted = model.Incomplete, true
		window.AddNote(words.Unpaired)
	}
	ac.closeExperiment(window, boundary)
	experiments.Note(window.ID)
	experiments.ByName[name] = others
	if len(others) == 0 {
		delete(experiments.ByName, name)
	}
	experiments.Open--
}

// closeExperiment closes an experiment, and keeps it for [Activity.TakeExperiments].
func (ac *Activity) closeExperiment(window *windows.Window, boundary *event.Boundary) {
	ac.Windows.close(window, boundary)
	if ac.experiments != nil {
		ac.experiments.add(window)
	}
}

// endExperiments closes the open experiments, in the order in which they began.
func (ac *Activity) endExperiments(process *windows.Process, boundary *event.Boundary) {
	var open []*windows.Window
	for _, named := range process.Experiments.ByName {
		open = append(open, named...)
	}
	slices.SortFunc(open, func(a, b *windows.Window) int { return a.ID - b.ID })
	for _, w := range open {
		w.Status, w.Note = model.Incomplete, windows.NewNote(words.NoEndMarker)
		ac.closeExperiment(w, boundary)
	}
	process.Experiments = windows.Experiments{}
}
