package rows

import (
	"slices"

	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/model"
)

// TreeOf returns a window's figures of its process and the children together, for meters on which they differ from own.
func (fg *figurer) TreeOf(w *windows.Window, own map[string]model.Figure) map[string]model.Figure {
	out := fg.reused.figures()
	isOfTop := w.IsOfTop()
	for _, m := range fg.GPUs.Meters {
		if !fg.GPUs.Shows(m, nil, w.Process.Info.Python != "") {
			continue
		}
		var f model.Figure
		if isOfTop && fg.hasOwnFigure(w, m) {
			continue
		}
		if isOfTop {
			f = fg.wholeTree(w, m)
		} else {
			f = fg.branch(w, m)
		}
		if o, ok := own[m.String()]; !ok || !o.Equal(f) {
			out[m.String()] = f
		}
	}
	return out
}

// hasOwnFigure reports whether the figure of a whole tree is that of the window's own process: the same readings, and
// nothing that makes only one of the two uncertain.
func (fg *figurer) hasOwnFigure(window *windows.Window, meter event.Meter) bool {
	own := window.Own.Of(meter)
	isSeen := !window.Crowded && !window.Sharing && window.Doubts == nil && len(window.Shared) == 0
	return isSeen && own == window.Tree.Of(meter) && window.Recomputed.Of(meter) <= own.Highest() &&
		fg.GPUs.Shows(meter, window, window.Process.Info.Python != "")
}

// wholeTree returns the figure of a whole tree, which the kernel half adds up at each instant.
func (fg *figurer) wholeTree(w *windows.Window, m event.Meter) model.Figure {
	f := fg.figure(m, w.Tree.Of(m), w, false)
	if shared := w.Shared.Of(m); shared > 0 {
		f.Exact, f.Bound = false, widen(f.Bound, shared)
	}
	return fg.boundIfUnseen(fg.boundIfStale(f, w, m), w, m)
}

// boundIfStale returns a tree's figure, with a bound if other processes than the window's have a part in it, and one of
// them counts its blocks itself. A page is read at its own process's boundaries, so the tree's peak may have the
// highest value of a page from another moment.
func (fg *figurer) boundIfStale(f model.Figure, w *windows.Window, m event.Meter) model.Figure {
	isCounted := slices.ContainsFunc(fg.Paused.Counted, func(g event.Group) bool { return countedBy(g, m) })
	if isCounted && w.Tree.Of(m) != w.Own.Of(m) {
		f.Exact, f.Bound = false, widen(f.Bound, w.Tree.Of(m).Highest())
	}
	return f
}

// boundIfUnseen returns a figure of several processes, as a lower bound if a part may be missing.
func (fg *figurer) boundIfUnseen(f model.Figure, w *windows.Window, m event.Meter) model.Figure {
	// A forked child has no probes: its allocations are in no figure. And not all of the tree may have been seen.
	if w.Crowded || w.Sharing && m.Facts().OfPythons || w.Doubts.IsTreeBound(m) {
		f.Exact, f.Bound = false, nil
	}
	return f
}

// branch returns the figure of a process below the top, such as a kernel of a server, with its children: the kernel
// half does not add these up. Start and end are sums. The peak is at least the peak of each process, and at most the
// sum of all peaks. The figure has the most likely peak, at which the process waits for a child and keeps its own
// value, and a bound that covers both extremes.
func (fg *figurer) branch(w *windows.Window, m event.Meter) model.Figure {
	own := w.Own.Of(m)
	if len(w.Measured.Children) == 0 && w.Unlisted == 0 {
		return fg.figure(m, own, w, true)
	}
	if slices.Contains(w.Paused, m) { // lower bounds of several processes cannot be added up
		return fg.figure(m, course.Figure{Start: own.Start, Peak: own.Start, End: own.Start, Meter: m}, w, false)
	}
	sum, waits := own, min(own.Start, own.End)
	least, most := own.Highest(), own.Highest()
	for _, c := range w.Measured.Children {
		f := c.Figures.Of(m)
		least, most, sum.Peak = max(least, f.Highest()), most+f.Highest(), max(sum.Peak, waits+f.Highest())
		if !w.Sharing { // the start of a forked child may be its parent's memory
			sum.Start, sum.End = sum.Start+f.Start, sum.End+f.End
		}
	}
	least = max(least, sum.Start, sum.End)
	sum.Peak = max(sum.Peak, least)
	f := fg.figure(m, sum, w, false)
	if off := max(most-sum.Peak, sum.Peak-least); off > 0 {
		f.Exact, f.Bound = false, widen(f.Bound, off)
	}
	if w.Sharing || w.Unlisted > 0 {
		f.Peak = int64(least)
		f.Peaked = f.Peak - max(f.Start, f.End)
		f.Exact, f.Bound = false, nil
	}
	return fg.boundIfUnseen(f, w, m)
}
