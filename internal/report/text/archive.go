package text

import (
	"slices"

	"ipytracer/model"
)

// archive fetches windows of a report again after the survey's pass through all of them, and keeps what it fetched.
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

// fetch returns a window by its id, without keeping it; an empty window if the report has none with that id.
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
			found := *w
			return &found
		}
	}
	return &model.Window{}
}

// statementsOf returns the statements of the wanted cells, by the cell's id, and keeps them.
func (a *archive) statementsOf(wanted map[int]bool) map[int][]model.Window {
	missing := map[int]bool{}
	for id := range wanted {
		if _, known := a.rows[id]; !known {
			a.rows[id], missing[id] = nil, true
		}
	}
	keep := func(w *model.Window) {
		if w.Kind == model.Statement && missing[w.Parent] && (w.Name != model.Hooks || a.moved(w.Meters)) {
			a.rows[w.Parent] = append(a.rows[w.Parent], *w)
		}
	}
	if a.r.Since != nil {
		for id := range missing {
			a.eachWithin(id, keep)
		}
	} else if len(missing) > 0 {
		for w := range a.r.All() {
			keep(w)
		}
	}
	statements := map[int][]model.Window{}
	for id := range wanted {
		statements[id] = a.rows[id]
	}
	return statements
}

// eachWithin calls visit for the children of a cell, up to its last statement.
func (a *archive) eachWithin(id int, visit func(*model.Window)) {
	cell := a.byID[id]
	if cell == nil {
		return
	}
	for w := range a.r.Since(id) {
		if w.ID > cell.last {
			return
		}
		if w.Parent == id {
			visit(w)
		}
	}
}

// detail adds the allocations to a cell, if the report computes them only on request.
func (a *archive) detail(w *model.Window) {
	if a.r.Detail != nil && w.Coverage == nil {
		a.r.Detail(w)
	}
}

// brief is the short form of a window that is no statement.
type brief struct {
	id, parent, pid, execution int
	kind, label, failure       string // failure is the type of the exception
	name                       string // the name of a cell in its row: its In[N], or its first line
	kernel                     string // "" if the session has only one
	silent, counted            bool   // counted: it has an In[N]
	weight                     int64  // of a cell
	statements                 int    // number of statements; hooks that moved no memory do not count
	last                       int    // the id of the last statement that counts
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

// reachesPeak reports whether a cell was highest during a statement.
func (s *scale) reachesPeak(statement, cell model.Window) bool {
	own, ok := statement.Meters[s.first()]
	whole := cell.Meters[s.first()]
	return ok && own.Peak == whole.Peak && whole.Need() > 0
}

// summitAmong returns the index of the statement in which a cell rose to its peak, -1 if that is not known. It is the
// first statement in which at least nine tenths of the cell's need was there. Figures are those with children if the
// cell needed more with them.
func (s *scale) summitAmong(statements []model.Window, cell *model.Window) int {
	if s.weight(*cell) <= 0 {
		return -1
	}
	figure := func(w *model.Window) model.Figure { return s.heavierFigures(w)[s.first()] }
	if s.needOf(cell.Tree) > s.needOf(cell.Meters) {
		figure = func(w *model.Window) model.Figure { f, _ := w.Together(s.first()); return f }
	}
	least := figure(cell).Peak - s.weight(*cell)/10
	return slices.IndexFunc(statements, func(w model.Window) bool {
		f := figure(&w)
		return f.Peak >= least && f.Need() > 0
	})
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

// largestChange returns the largest change of any headline meter in the time between two cells, in bytes.
func (s *scale) largestChange(b model.Between) int64 {
	var largest int64
	for _, id := range s.meters {
		f := b.Meters[id]
		largest = max(largest, f.Need(), f.Consumed, -f.Consumed)
	}
	return largest
}
