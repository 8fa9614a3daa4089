package text

import (
	"slices"

	"ipytracer/model"
)

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
	if len(s.meters) == 0 {
		return 0
	}
	return figures[s.meters[0]].Need()
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
	if len(s.meters) == 0 {
		return false
	}
	own, ok := w.Meters[s.meters[0]]
	whole := c.Meters[s.meters[0]]
	return ok && own.Peak == whole.Peak && whole.Need() > 0
}

// summitAmong returns the statement at which a cell rose to its peak, -1 if that is not known: the first statement in
// which all but a tenth of its need was there. If a cell's children need more, theirs counts.
func (s *scale) summitAmong(statements []model.Window, c *model.Window) int {
	if len(s.meters) == 0 || s.weight(*c) <= 0 {
		return -1
	}
	of := func(w *model.Window) model.Figure { return s.heavierFigures(w)[s.meters[0]] }
	if s.needOf(c.Tree) > s.needOf(c.Meters) {
		of = func(w *model.Window) model.Figure { f, _ := w.Together(s.meters[0]); return f }
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
