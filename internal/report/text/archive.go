package text

import (
	"slices"

	"ipytracer/model"
)

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

// brief is the short form of a window that is no statement.
type brief struct {
	id, parent, pid, execution int
	kind, label, failure       string
	name                       string // the name of a cell in its row: its In[N], or its first line
	kernel                     string // if the session has several
	silent, counted            bool   // counted: it has an In[N]
	weight                     int64
	statements                 int // those with a row in the view line by line
	last                       int // the id of the last of them
}

// scale is the measure of windows in a report: the headline meters, the ranking one first.
type scale struct{ meters []string }

// first returns the meter that ranks.
func (s *scale) first() string {
	if len(s.meters) == 0 {
		return ""
	}
	return s.meters[0]
}

// weight returns the rank of a window: its own need or, if that is more, the need with its children.
func (s *scale) weight(w model.Window) int64 { return max(s.needOf(w.Meters), s.needOf(w.Tree)) }

// needOf returns the need of the ranking meter in some figures.
func (s *scale) needOf(figures map[string]model.Figure) int64 {
	return figures[s.first()].Need()
}

// moved reports whether any headline meter changed.
func (s *scale) moved(figures map[string]model.Figure) bool {
	return slices.ContainsFunc(s.meters, func(id string) bool {
		f := figures[id]
		return f.Consumed != 0 || f.Need() != 0
	})
}

// reaches reports whether a cell was highest during a statement.
func (s *scale) reaches(w, c model.Window) bool {
	own, ok := w.Meters[s.first()]
	whole := c.Meters[s.first()]
	return ok && own.Peak == whole.Peak && whole.Need() > 0
}

// summitAmong returns the statement at which a cell rose to its peak, -1 if that is not known: the first statement in
// which all but a tenth of its need was there. If a cell's children need more, theirs counts.
func (s *scale) summitAmong(statements []model.Window, c *model.Window) int {
	if s.weight(*c) <= 0 {
		return -1
	}
	of := func(w *model.Window) model.Figure { return s.heavierFigures(w)[s.first()] }
	if s.needOf(c.Tree) > s.needOf(c.Meters) {
		of = func(w *model.Window) model.Figure { f, _ := w.Together(s.first()); return f }
	}
	least := of(c).Peak - s.weight(*c)/10
	return slices.IndexFunc(statements, func(w model.Window) bool { return of(&w).Peak >= least && of(&w).Need() > 0 })
}

// heavierFigures returns a window's own figures or, if these need more, those with its children.
func (s *scale) heavierFigures(w *model.Window) map[string]model.Figure {
	if s.needOf(w.Tree) > s.needOf(w.Meters) {
		return w.Figures()
	}
	return w.Meters
}

// highestOf returns the peak of the ranking meter, with children if that is more.
func (s *scale) highestOf(w *model.Window) int64 {
	own := w.Meters[s.first()].Peak
	if f, ok := w.Together(s.first()); ok {
		return max(f.Peak, own)
	}
	return own
}

// largest returns the largest movement of any headline meter in a gap.
func (s *scale) largest(b model.Between) int64 {
	var n int64
	for _, id := range s.meters {
		f := b.Meters[id]
		n = max(n, f.Need(), f.Consumed, -f.Consumed)
	}
	return n
}
