package text

import (
	"cmp"
	"slices"

	"ipytracer/model"
)

// In a session without a cell there is no highest moment to explain. Its first lines say what each process has, what
// holds it, and what to type.

// leadIdle writes these lines, with an empty one behind them, or in front of them if the page has begun.
func (v headlineView) leadIdle(begun bool) {
	all := v.idle()
	if len(all) > 0 && begun {
		v.Blank()
	}
	for _, o := range all {
		v.leadRest(o)
	}
	if len(all) > 0 && !begun {
		v.Blank()
	}
}

// idle returns the memory of the living processes of a session without a cell, the most first. It is empty for every
// other session.
func (v headlineView) idle() (all []*leftover) {
	if v.leads() || len(v.meters) == 0 {
		return nil
	}
	for _, p := range v.kernels() {
		if o := leftoverOf(v.view, p.PID); !p.Ended && o.end > 0 {
			all = append(all, o)
		}
	}
	slices.SortStableFunc(all, func(a, b *leftover) int { return cmp.Compare(b.end, a.end) })
	return all[:min(len(all), mostSummits)]
}

// withoutCells takes the end of the session for the end of a process without a cell.
func (o *leftover) withoutCells(v *view) {
	if _, ran := v.ends[o.pid]; !ran {
		o.end, o.idle = v.sessions[o.pid][v.first()].End, true
	}
}

// when names the moment of the remaining memory.
func (o *leftover) when() string {
	if o.idle {
		return " at the end"
	}
	return " after the last cell"
}

// isTyped reports whether code can be typed into the process: it runs cells.
func (o *leftover) isTyped() bool {
	return !o.idle || slices.ContainsFunc(o.r.Processes, func(p model.Process) bool {
		return p.PID == o.pid && p.IPython != ""
	})
}

// nothingNamed describes the holders of an idle kernel's memory where no name holds much of it.
func (o *leftover) nothingNamed() string {
	if !slices.ContainsFunc(o.r.Names, func(n model.Names) bool { return n.PID == o.pid }) {
		return "what holds it was not looked at to the end"
	}
	return "no name of the notebook's holds much; tracer audit says what modules, classes and cycles hold"
}
