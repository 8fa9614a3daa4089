package attribution

import (
	"slices"

	"ipytracer/event"
	"ipytracer/model"
	"ipytracer/model/words"
)

// experiments are those of a process that are open.
type experiments struct {
	byName map[string][]*window // innermost last
	open   int
	// refused are the names of those that were not opened, innermost of their name, with how many; crowded: some of
	// these are not known.
	refused map[string]int
	crowded bool
	closed  int // the id of the one that closed last, 0 for none
}

func (t *Tracker) beginExperiment(r *root, p *process, b *event.Boundary) {
	all := &p.experiments
	name, _ := t.limits.keep(b.Text, maxName)
	if len(r.open) >= maxOpen {
		t.limits.Unpaired++
		if all.refused == nil {
			all.refused = map[string]int{}
		}
		if _, known := all.refused[name]; !known && len(all.refused) >= maxOpen {
			all.crowded = true
			return
		}
		all.refused[name]++
		return
	}
	w := t.openWindow(p, b, kindExperiment, t.processes.sessionOf(p))
	w.name = name
	if all.byName == nil {
		all.byName = map[string][]*window{}
	}
	all.byName[name] = append(all.byName[name], w)
	all.open++
}

func (t *Tracker) endExperiment(p *process, b *event.Boundary) {
	all := &p.experiments
	name, _ := t.limits.keep(b.Text, maxName)
	if all.refused[name] > 0 {
		all.refused[name]--
		return
	}
	of := all.byName[name]
	if len(of) == 0 {
		// else its begin may have been refused, which is said
		if t.processes.root(b.Root).doubts.Refused[event.RefusedMarkers] == 0 {
			t.problems.add(words.NotBegun(b.Text, int(b.PID)))
		}
		return
	}
	w := of[len(of)-1]
	if all.crowded {
		w.status, w.doubted = model.Incomplete, true
		w.addNote(words.Unpaired)
	}
	t.closeWindow(w, b)
	all.closed = w.id
	if all.byName[name] = of[:len(of)-1]; len(of) == 1 {
		delete(all.byName, name)
	}
	all.open--
}

// endExperiments closes those that are open, in the order they began.
func (t *Tracker) endExperiments(p *process, b *event.Boundary) {
	var left []*window
	for _, of := range p.experiments.byName {
		left = append(left, of...)
	}
	slices.SortFunc(left, func(a, b *window) int { return a.id - b.id })
	for _, w := range left {
		w.status, w.note = model.Incomplete, words.NoEndMarker
		t.closeWindow(w, b)
	}
	p.experiments = experiments{}
}
