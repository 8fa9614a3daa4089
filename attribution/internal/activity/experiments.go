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
	all := &process.Experiments
	name, _ := ac.Limits.Keep(boundary.Experiment, windows.MaxName)
	if len(tree.Open) >= ac.Limits.Open {
		ac.Limits.Unpaired++
		if all.Refused == nil {
			all.Refused = map[string]int{}
		}
		if _, known := all.Refused[name]; !known && len(all.Refused) >= ac.Limits.Open {
			all.Crowded = true
			return
		}
		all.Refused[name]++
		return
	}
	window := ac.Windows.Open(process, boundary, windows.KindExperiment, ac.Processes.SessionOf(process))
	window.Name = name
	if all.ByName == nil {
		all.ByName = map[string][]*windows.Window{}
	}
	all.ByName[name] = append(all.ByName[name], window)
	all.Open++
}

// EndExperiment ends the newest open experiment of a name.
func (ac *Activity) EndExperiment(process *windows.Process, boundary *event.Boundary) {
	all := &process.Experiments
	name, _ := ac.Limits.Keep(boundary.Experiment, windows.MaxName)
	if all.Refused[name] > 0 {
		all.Refused[name]--
		return
	}
	of := all.ByName[name]
	if len(of) == 0 {
		// otherwise its begin may have been refused, which is reported
		if ac.Processes.Tree(boundary.Root).Doubts.Refused[event.RefusedMarkers] == 0 {
			ac.Problems.Add(words.Problem{Kind: words.NotBegun, PID: int(boundary.PID), Name: boundary.Experiment})
		}
		return
	}
	window := of[len(of)-1]
	if all.Crowded {
		window.Status, window.Doubted = model.Incomplete, true
		window.AddNote(words.Unpaired)
	}
	ac.closeExperiment(window, boundary)
	all.Note(window.ID)
	if all.ByName[name] = of[:len(of)-1]; len(of) == 1 {
		delete(all.ByName, name)
	}
	all.Open--
}

// closeExperiment closes an experiment.
func (ac *Activity) closeExperiment(window *windows.Window, boundary *event.Boundary) {
	ac.Windows.close(window, boundary)
	if ac.marked != nil {
		ac.marked.add(window)
	}
}

// endExperiments closes the open experiments, in the order in which they began.
func (ac *Activity) endExperiments(process *windows.Process, boundary *event.Boundary) {
	var left []*windows.Window
	for _, of := range process.Experiments.ByName {
		left = append(left, of...)
	}
	slices.SortFunc(left, func(a, b *windows.Window) int { return a.ID - b.ID })
	for _, w := range left {
		w.Status, w.Note = model.Incomplete, windows.NewNote(words.NoEndMarker)
		ac.closeExperiment(w, boundary)
	}
	process.Experiments = windows.Experiments{}
}
