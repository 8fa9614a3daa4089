package text

import "ipytracer/model"

// archive fetches windows of a report again after a pass through all of it, and keeps them.
type archive struct {
	scale
	r    *model.Report
	byID map[int]*brief
	kept map[int]*model.Window  // fetched windows
	rows map[int][]model.Window // statements, by cell
}

// window returns a window by its id, kept from then on.
func (a *archive) window(id int) *model.Window {
	w := a.kept[id]
	if w == nil {
		w = a.fetch(id)
		a.kept[id] = w
	}
	return w
}

// fetch returns a window by its id.
func (a *archive) fetch(id int) *model.Window {
	if w := a.kept[id]; w != nil {
		return w
	}
	if a.r.Find != nil {
		if w, ok := a.r.Find(id); ok {
			return &w
		}
		return &model.Window{}
	}
	for w := range a.r.All() {
		if w.ID == id && w.Kind != model.Statement {
			one := *w
			return &one
		}
	}
	return &model.Window{}
}

// statementsOf returns the statements of cells, by the cell's id.
func (a *archive) statementsOf(wanted map[int]bool) map[int][]model.Window {
	missing := map[int]bool{}
	for id := range wanted {
		if _, known := a.rows[id]; !known {
			a.rows[id], missing[id] = nil, true
		}
	}
	take := func(w *model.Window) {
		if w.Kind == model.Statement && missing[w.Parent] && (w.Name != model.Hooks || a.moved(w.Meters)) {
			a.rows[w.Parent] = append(a.rows[w.Parent], *w)
		}
	}
	if a.r.Since != nil {
		for id := range missing {
			a.takeWithin(id, take)
		}
	} else if len(missing) > 0 {
		for w := range a.r.All() {
			take(w)
		}
	}
	of := map[int][]model.Window{}
	for id := range wanted {
		of[id] = a.rows[id]
	}
	return of
}

// takeWithin goes through the windows from a cell to its last statement.
func (a *archive) takeWithin(id int, take func(*model.Window)) {
	of := a.byID[id]
	if of == nil {
		return
	}
	for w := range a.r.Since(id) {
		if w.ID > of.last {
			return
		}
		if w.Parent == id {
			take(w)
		}
	}
}

// detail adds the allocations of a cell, if they are made on request only.
func (a *archive) detail(w *model.Window) {
	if a.r.Detail != nil && w.Coverage == nil {
		a.r.Detail(w)
	}
}
