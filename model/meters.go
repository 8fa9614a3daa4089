package model

import "slices"

// AllMeters lists every meter of a report: first those it declares, in its order, then any other that has a figure.
func (r *Report) AllMeters() []string {
	var ids []string
	for _, m := range r.Meters {
		if !slices.Contains(ids, m.ID) {
			ids = append(ids, m.ID)
		}
	}
	var more []string
	take := func(id string) {
		if !slices.Contains(ids, id) && !slices.Contains(more, id) {
			more = append(more, id)
		}
	}
	for _, id := range r.MeterIDs {
		take(id)
	}
	if r.Stream == nil {
		r.eachFigures(func(figures map[string]Figure) {
			for id := range figures {
				take(id)
			}
		})
	}
	slices.Sort(more)
	return append(ids, more...)
}

// eachFigures calls visit with every set of figures in a report.
func (r *Report) eachFigures(visit func(map[string]Figure)) {
	for w := range r.AllPassing() {
		visit(w.Meters)
		visit(w.Tree)
		for _, c := range w.Children {
			visit(c.Meters)
		}
	}
	for b := range r.AllBetweenPassing() {
		visit(b.Meters)
		visit(b.Tree)
	}
	for _, p := range r.Processes {
		visit(p.Meters)
	}
}
