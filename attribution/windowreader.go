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

// from yields the reported windows from index i of all windows on.
func (wr *windowReader) from(i int) iter.Seq[*model.Window] {
	return func(yield func(*model.Window) bool) {
		for window := range wr.Table.All(i, windows.OfKinds(windows.WindowKind.IsReported)) {
			whole := wr.Presenter.Window(window)
			if !yield(&whole) {
				return
			}
		}
	}
}

// after yields the reported windows with ids from id on.
func (wr *windowReader) after(id int) iter.Seq[*model.Window] {
	return wr.from(wr.Table.First(id))
}

// eachBetween yields the times between cells, in the order they began.
func (wr *windowReader) eachBetween(yield func(*model.Between) bool) {
	for window := range wr.Table.All(0, windows.OfKind(windows.KindBetween)) {
		one := wr.Presenter.Between(window)
		if !yield(&one) {
			return
		}
	}
}

// pass yields the windows of each that are picked. Each window is valid until the next one: all use the same memory.
func (wr *windowReader) pass(pick model.Pick) iter.Seq[*model.Window] {
	selects := func(k windows.WindowKind, id, parent int) bool {
		return k.IsReported() && pick(windows.KindNames[k], id, parent)
	}
	return func(yield func(*model.Window) bool) {
		for window := range wr.Table.All(0, selects) {
			wr.Reused.Begin()
			wr.Reused.Window = wr.Presenter.Window(window)
			wr.Reused.End()
			if !yield(&wr.Reused.Window) {
				return
			}
		}
	}
}

// passBetween yields the times that eachBetween yields. Each is valid until the next one: all use the same memory.
func (wr *windowReader) passBetween(yield func(*model.Between) bool) {
	for window := range wr.Table.All(0, windows.OfKind(windows.KindBetween)) {
		wr.Reused.Begin()
		wr.Reused.Between = wr.Presenter.Between(window)
		wr.Reused.End()
		if !yield(&wr.Reused.Between) {
			return
		}
	}
}

// find returns the reported window with an id.
func (wr *windowReader) find(id int) (model.Window, bool) {
	if w := wr.Table.WindowOf(id); w != nil {
		return wr.Presenter.Window(w), true
	}
	return model.Window{}, false
}

// detail adds to a reported window the stacks that allocated in it.
func (wr *windowReader) detail(out *model.Window) {
	window := wr.Table.WindowOf(out.ID)
	if window == nil {
		return
	}
	if len(wr.Table.TalliesOf(window)) == 0 {
		out.Allocations, out.Coverage = nil, nil
		return
	}
	if out == &wr.Reused.Window {
		wr.Reused.Allocations = wr.lister.AllocationsOf(window, wr.Reused.Allocations[:0], wr.Reused.Covered())
		out.Allocations, out.Coverage = wr.Reused.Allocations, wr.Reused.Coverage
		return
	}
	coverage := map[string]model.Coverage{}
	out.Allocations, out.Coverage = slices.Clip(wr.lister.AllocationsOf(window, nil, coverage)), coverage
}
