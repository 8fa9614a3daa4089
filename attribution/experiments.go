package attribution

import (
	"slices"

	"ipytracer/event"
	"ipytracer/internal/words"
	"ipytracer/model"
)

func (ac *activity) beginExperiment(r *root, p *process, b *event.Boundary) {
	all := &p.experiments
	name, _ := ac.limits.keep(b.Experiment, maxName)
	if len(r.open) >= ac.limits.open {
		ac.limits.Unpaired++
		if all.refused == nil {
			all.refused = map[string]int{}
		}
		if _, known := all.refused[name]; !known && len(all.refused) >= ac.limits.open {
			all.crowded = true
			return
		}
		all.refused[name]++
		return
	}
	w := ac.windows.open(p, b, kindExperiment, ac.processes.sessionOf(p))
	w.name = name
	if all.byName == nil {
		all.byName = map[string][]*window{}
	}
	all.byName[name] = append(all.byName[name], w)
	all.open++
}

func (ac *activity) endExperiment(p *process, b *event.Boundary) {
	all := &p.experiments
	name, _ := ac.limits.keep(b.Experiment, maxName)
	if all.refused[name] > 0 {
		all.refused[name]--
		return
	}
	of := all.byName[name]
	if len(of) == 0 {
		// otherwise its begin may have been refused, which is reported
		if ac.processes.root(b.Root).doubts.Refused[event.RefusedMarkers] == 0 {
			ac.problems.add(words.Problem{Kind: words.NotBegun, PID: int(b.PID), Name: b.Experiment})
		}
		return
	}
	w := of[len(of)-1]
	if all.crowded {
		w.status, w.doubted = model.Incomplete, true
		w.addNote(words.Unpaired)
	}
	ac.closeExperiment(w, b)
	all.note(w.id)
	if all.byName[name] = of[:len(of)-1]; len(of) == 1 {
		delete(all.byName, name)
	}
	all.open--
}

// closeExperiment closes an experiment.
func (ac *activity) closeExperiment(w *window, b *event.Boundary) {
	ac.windows.close(w, b)
	if ac.marked != nil {
		ac.marked.add(w)
	}
}

// endExperiments closes the open experiments, in the order in which they began.
func (ac *activity) endExperiments(p *process, b *event.Boundary) {
	var left []*window
	for _, of := range p.experiments.byName {
		left = append(left, of...)
	}
	slices.SortFunc(left, func(a, b *window) int { return a.id - b.id })
	for _, w := range left {
		w.status, w.note = model.Incomplete, alone(words.NoEndMarker)
		ac.closeExperiment(w, b)
	}
	p.experiments = experiments{}
}

// marked are experiments of a [Monitor] that have closed, and have not been handed out.
type marked struct {
	all  []*window
	lost map[int32]int // those without room, by process
}

// maxUnfetched is the most experiments that wait to be handed out: a process can end any number of them at a time.
const maxUnfetched = 1 << 12

func (m *marked) add(w *window) {
	if len(m.all) < maxUnfetched {
		m.all = append(m.all, w)
		return
	}
	if m.lost == nil {
		m.lost = map[int32]int{}
	}
	m.lost[w.process.info.PID]++
}
