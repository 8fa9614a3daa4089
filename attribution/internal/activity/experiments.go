package activity

import (
	"slices"

	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/internal/words"
	"ipytracer/model"
)

func (ac *Activity) BeginExperiment(r *windows.Tree, p *windows.Process, b *event.Boundary) {
	all := &p.Experiments
	name, _ := ac.Limits.Keep(b.Experiment, windows.MaxName)
	if len(r.Open) >= ac.Limits.Open {
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
	w := ac.Windows.Open(p, b, windows.KindExperiment, ac.Processes.SessionOf(p))
	w.Name = name
	if all.ByName == nil {
		all.ByName = map[string][]*windows.Window{}
	}
	all.ByName[name] = append(all.ByName[name], w)
	all.Open++
}

func (ac *Activity) EndExperiment(p *windows.Process, b *event.Boundary) {
	all := &p.Experiments
	name, _ := ac.Limits.Keep(b.Experiment, windows.MaxName)
	if all.Refused[name] > 0 {
		all.Refused[name]--
		return
	}
	of := all.ByName[name]
	if len(of) == 0 {
		// otherwise its begin may have been refused, which is reported
		if ac.Processes.Tree(b.Root).Doubts.Refused[event.RefusedMarkers] == 0 {
			ac.Problems.Add(words.Problem{Kind: words.NotBegun, PID: int(b.PID), Name: b.Experiment})
		}
		return
	}
	w := of[len(of)-1]
	if all.Crowded {
		w.Status, w.Doubted = model.Incomplete, true
		w.AddNote(words.Unpaired)
	}
	ac.closeExperiment(w, b)
	all.Note(w.ID)
	if all.ByName[name] = of[:len(of)-1]; len(of) == 1 {
		delete(all.ByName, name)
	}
	all.Open--
}

// closeExperiment closes an experiment.
func (ac *Activity) closeExperiment(w *windows.Window, b *event.Boundary) {
	ac.Windows.close(w, b)
	if ac.Marked != nil {
		ac.Marked.add(w)
	}
}

// endExperiments closes the open experiments, in the order in which they began.
func (ac *Activity) endExperiments(p *windows.Process, b *event.Boundary) {
	var left []*windows.Window
	for _, of := range p.Experiments.ByName {
		left = append(left, of...)
	}
	slices.SortFunc(left, func(a, b *windows.Window) int { return a.ID - b.ID })
	for _, w := range left {
		w.Status, w.Note = model.Incomplete, windows.NewNote(words.NoEndMarker)
		ac.closeExperiment(w, b)
	}
	p.Experiments = windows.Experiments{}
}
