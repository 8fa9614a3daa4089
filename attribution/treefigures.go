package attribution

import (
	"slices"

	"ipytracer/attribution/internal/course"
	"ipytracer/event"
	"ipytracer/model"
)

// treeOf returns a window's figures of its process and the children together, where they differ from its own.
func (fg *figurer) treeOf(w *window, own map[string]model.Figure) map[string]model.Figure {
	out := fg.lent.figures()
	whole := w.isOfTop()
	for _, m := range fg.gpus.meters {
		if !fg.gpus.shows(m, nil, w.process.info.Python != "") {
			continue
		}
		var f model.Figure
		if whole {
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

// wholeTree returns the figure that the kernel half has added up at each instant.
func (fg *figurer) wholeTree(w *window, m event.Meter) model.Figure {
	f := fg.figure(m, w.tree.Of(m), w, false)
	if shared := w.shared.Of(m); shared > 0 {
		f.Exact, f.Bound = false, widen(f.Bound, shared)
	}
	return fg.asSeen(f, w, m)
}

// asSeen returns a figure of several processes, not exact if a part may be missing in it.
func (fg *figurer) asSeen(f model.Figure, w *window, m event.Meter) model.Figure {
	// A forked child has no probes: its allocations are in no figure. And not all of the tree may have been seen.
	if w.crowded || w.sharing && m.Facts().OfPythons || w.doubts.inTree(m) {
		f.Exact, f.Bound = false, nil
	}
	return f
}

// branch returns the figure of a process below the top, such as a kernel of a server, and its children: the kernel half
// does not add these up. Without children it is the process's own figure. With children, the start and the end are
// sums; the peak of the sum is at least the peak of each one, and at most the sum of all peaks. The figure has the most
// likely peak, with a bound that covers both: a process that waits for its child keeps its own value.
func (fg *figurer) branch(w *window, m event.Meter) model.Figure {
	own := w.own.Of(m)
	if len(w.measured.children) == 0 && w.unlisted == 0 {
		return fg.figure(m, own, w, true)
	}
	if slices.Contains(w.shed, m) { // the values that are certain at the same time are not known
		return fg.figure(m, course.Figure{Start: own.Start, Peak: own.Start, End: own.Start, Meter: m}, w, false)
	}
	sum, waits := own, min(own.Start, own.End)
	least, most := own.Highest(), own.Highest()
	for _, c := range w.measured.children {
		f := c.figures.Of(m)
		least, most, sum.Peak = max(least, f.Highest()), most+f.Highest(), max(sum.Peak, waits+f.Highest())
		if !w.sharing { // else the start of a forked child may be its parent's
			sum.Start, sum.End = sum.Start+f.Start, sum.End+f.End
		}
	}
	least = max(least, sum.Start, sum.End)
	sum.Peak = max(sum.Peak, least)
	f := fg.figure(m, sum, w, false)
	if off := max(most-sum.Peak, sum.Peak-least); off > 0 {
		f.Exact, f.Bound = false, widen(f.Bound, off)
	}
	if w.sharing || w.unlisted > 0 {
		f.Peak = int64(least)
		f.Peaked = f.Peak - max(f.Start, f.End)
		f.Exact, f.Bound = false, nil
	}
	return fg.asSeen(f, w, m)
}
