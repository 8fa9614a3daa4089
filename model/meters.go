package model

import "slices"

// AllMeters returns every meter of a report: first those that it declares, in its order, and then all others that have
// a figure.
func (r *Report) AllMeters() []string {
	var ids []string
	for _, m := range r.Meters {
		if !slices.Contains(ids, m.ID) {
			ids = append(ids, m.ID)
		}
	}
	var undeclared []string
	add := func(id string) {
		if !slices.Contains(ids, id) && !slices.Contains(undeclared, id) {
			undeclared = append(undeclared, id)
		}
	}
	for _, id := range r.MeterIDs {
		add(id)
	}
	if r.Stream == nil {
		r.eachFigures(func(figures map[string]Figure) {
			for id := range figures {
				add(id)
			}
		})
	}
	slices.Sort(undeclared)
	return append(ids, undeclared...)
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
