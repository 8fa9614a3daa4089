package attribution

import (
	"iter"
	"slices"

	"ipytracer/attribution/internal/blocks"
	"ipytracer/attribution/internal/rows"
	"ipytracer/attribution/internal/windows"
	"ipytracer/model"
)

// windowReader yields the windows of a report, each made when it is asked for.
type windowReader struct {
	*rows.Rows
	lister *blocks.Lister
}

// each yields the windows of a report, in the order they began.
func (wr *windowReader) each(yield func(*model.Window) bool) { wr.from(0)(yield) }

// from yields the windows from the i-th on.
func (wr *windowReader) from(i int) iter.Seq[*model.Window] {
	return func(yield func(*model.Window) bool) {
		for window := range wr.Table.All(i, windows.WindowKind.IsReported) {
			whole := wr.Presenter.Window(window)
			if !yield(&whole) {
				return
			}
		}
	}
}

// after yields the windows from the one with an id on.
func (wr *windowReader) after(id int) iter.Seq[*model.Window] {
	return wr.from(wr.Table.First(id))
}

// eachBetween yields the times between cells, in the order they began.
func (wr *windowReader) eachBetween(yield func(*model.Between) bool) {
	for window := range wr.Table.All(0, func(k windows.WindowKind) bool { return k == windows.KindBetween }) {
		one := wr.Presenter.Between(window)
		if !yield(&one) {
			return
		}
	}
}

// pass yields the windows that each yields, all in the same memory.
func (wr *windowReader) pass(yield func(*model.Window) bool) {
	for window := range wr.Table.All(0, windows.WindowKind.IsReported) {
		wr.Reused.Begin()
		wr.Reused.Window = wr.Presenter.Window(window)
		wr.Reused.End()
		if !yield(&wr.Reused.Window) {
			return
		}
	}
}

// passBetween yields the times that eachBetween yields, all in the same memory.
func (wr *windowReader) passBetween(yield func(*model.Between) bool) {
	for window := range wr.Table.All(0, func(k windows.WindowKind) bool { return k == windows.KindBetween }) {
		wr.Reused.Begin()
		wr.Reused.Between = wr.Presenter.Between(window)
		wr.Reused.End()
		if !yield(&wr.Reused.Between) {
			return
		}
	}
}

// find makes one window of a report anew.
func (wr *windowReader) find(id int) (model.Window, bool) {
	if w := wr.Table.WindowOf(id); w != nil {
		return wr.Presenter.Window(w), true
	}
	return model.Window{}, false
}

// detail sets the stacks that allocated in a window of a report.
func (wr *windowReader) detail(of *model.Window) {
	window := wr.Table.WindowOf(of.ID)
	if window == nil {
		return
	}
	if len(wr.Table.TalliesOf(window)) == 0 {
		of.Allocations, of.Coverage = nil, nil
		return
	}
	if of == &wr.Reused.Window {
		wr.Reused.Allocations = wr.lister.AllocationsOf(window, wr.Reused.Allocations[:0], wr.Reused.Covered())
		of.Allocations, of.Coverage = wr.Reused.Allocations, wr.Reused.Coverage
		return
	}
	coverage := map[string]model.Coverage{}
	of.Allocations, of.Coverage = slices.Clip(wr.lister.AllocationsOf(window, nil, coverage)), coverage
}
