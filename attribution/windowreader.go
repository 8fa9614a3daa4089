package attribution

import (
	"iter"
	"slices"

	"ipytracer/attribution/internal/windows"
	"ipytracer/model"
)

// windowReader yields the windows of a report, each made when it is asked for.
type windowReader struct {
	*rows
	lister *lister
}

// each yields the windows of a report, in the order they began.
func (wr *windowReader) each(yield func(*model.Window) bool) { wr.from(0)(yield) }

// from returns those from the i-th window on.
func (wr *windowReader) from(i int) iter.Seq[*model.Window] {
	return func(yield func(*model.Window) bool) {
		for w := range wr.Table.All(i, windows.WindowKind.IsReported) {
			whole := wr.presenter.window(w)
			if !yield(&whole) {
				return
			}
		}
	}
}

// after returns those from the window with an id on.
func (wr *windowReader) after(id int) iter.Seq[*model.Window] {
	return wr.from(wr.Table.First(id))
}

// eachBetween yields the times between cells, in the order they began.
func (wr *windowReader) eachBetween(yield func(*model.Between) bool) {
	for w := range wr.Table.All(0, func(k windows.WindowKind) bool { return k == windows.KindBetween }) {
		one := wr.presenter.between(w)
		if !yield(&one) {
			return
		}
	}
}

// pass yields the same as each, in the same memory.
func (wr *windowReader) pass(yield func(*model.Window) bool) {
	for w := range wr.Table.All(0, windows.WindowKind.IsReported) {
		wr.lent.begin()
		wr.lent.window = wr.presenter.window(w)
		wr.lent.end()
		if !yield(&wr.lent.window) {
			return
		}
	}
}

// passBetween yields the same as eachBetween, in the same memory.
func (wr *windowReader) passBetween(yield func(*model.Between) bool) {
	for w := range wr.Table.All(0, func(k windows.WindowKind) bool { return k == windows.KindBetween }) {
		wr.lent.begin()
		wr.lent.between = wr.presenter.between(w)
		wr.lent.end()
		if !yield(&wr.lent.between) {
			return
		}
	}
}

// find makes one window of a report again.
func (wr *windowReader) find(id int) (model.Window, bool) {
	if w := wr.Table.WindowOf(id); w != nil {
		return wr.presenter.window(w), true
	}
	return model.Window{}, false
}

// detail sets the stacks that allocated in a window of a report.
func (wr *windowReader) detail(of *model.Window) {
	w := wr.Table.WindowOf(of.ID)
	if w == nil {
		return
	}
	if len(wr.Table.TalliesOf(w)) == 0 {
		of.Allocations, of.Coverage = nil, nil
		return
	}
	if of == &wr.lent.window {
		wr.lent.allocations = wr.lister.allocationsOf(w, wr.lent.allocations[:0], wr.lent.covered())
		of.Allocations, of.Coverage = wr.lent.allocations, wr.lent.coverage
		return
	}
	coverage := map[string]model.Coverage{}
	of.Allocations, of.Coverage = slices.Clip(wr.lister.allocationsOf(w, nil, coverage)), coverage
}
