package attribution

import (
	"slices"

	"ipytracer/event"
	"ipytracer/model"
)

// treeOf are a window's figures of its process and the children together, where they are others than its own.
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

// isOfTop says whether the window's process is the one whose tree the kernel half adds up: the one that was attached to
// or started, not one below it.
func (w *window) isOfTop() bool {
	top := w
	for top.parent != nil {
		top = top.parent
	}
	return top.kind == kindSession && top.process == w.process
}

// wholeTree is what the kernel half has added up at each instant.
func (fg *figurer) wholeTree(w *window, m event.Meter) model.Figure {
	f := fg.figure(m, w.tree.of(m), w, false)
	if shared := w.shared.of(m); shared > 0 {
		f.Exact, f.Bound = false, widen(f.Bound, shared)
	}
	return fg.asSeen(f, w, m)
}

// asSeen is a figure of several processes, with what may be missing in it.
func (fg *figurer) asSeen(f model.Figure, w *window, m event.Meter) model.Figure {
	// A forked child has no probes: what it makes is in none of them. And not all of the tree may have been seen.
	if w.crowded || w.sharing && m.Facts().OfPythons || w.doubts.inTree(m) {
		f.Exact, f.Bound = false, nil
	}
	return f
}

// branch is for a process below the top, such as a kernel of a server: the kernel half does not add up what such a
// process and its own children have. Without children that is its own figure. With some, what they have at the start
// and the end is a sum; the peak of the sum is at least each one's, and at most the sum of all. What it most likely
// was, with a bound that covers both: a process that waits for its child has what it had.
func (fg *figurer) branch(w *window, m event.Meter) model.Figure {
	own := w.own.of(m)
	if len(w.measured.children) == 0 && w.unlisted == 0 {
		return fg.figure(m, own, w, true)
	}
	if slices.Contains(w.shed, m) { // what of it is certain at the same time is not known
		return fg.figure(m, figure{start: own.start, peak: own.start, end: own.start, meter: m}, w, false)
	}
	sum, waits := own, min(own.start, own.end)
	least, most := own.highest(), own.highest()
	for _, c := range w.measured.children {
		f := c.figures.of(m)
		least, most, sum.peak = max(least, f.highest()), most+f.highest(), max(sum.peak, waits+f.highest())
		if !w.sharing { // else what a forked child began with may be its parent's
			sum.start, sum.end = sum.start+f.start, sum.end+f.end
		}
	}
	least = max(least, sum.start, sum.end)
	sum.peak = max(sum.peak, least)
	f := fg.figure(m, sum, w, false)
	if off := max(most-sum.peak, sum.peak-least); off > 0 {
		f.Exact, f.Bound = false, widen(f.Bound, off)
	}
	if w.sharing || w.unlisted > 0 {
		f.Peak = int64(least)
		f.Peaked = f.Peak - max(f.Start, f.End)
		f.Exact, f.Bound = false, nil
	}
	return fg.asSeen(f, w, m)
}
