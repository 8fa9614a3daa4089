package windows

import (
	"slices"

	"ipytracer/attribution/internal/course"
	"ipytracer/event"
)

// eachGauge calls do for the gauges of a meter in a tree: the tree's own gauge, and the gauge of each living process
// with the process's highest value so far.
func (r *Tree) eachGauge(m event.Meter, do func(g *course.Gauge, life event.Bytes)) {
	do(r.Gauges.Need(m), 0)
	for _, p := range r.Living {
		do(p.Gauges.Need(m), p.Life.Of(m).Highest())
	}
}

// pause ends the certain part of a meter at a cut.
func (r *Tree) pause(m event.Meter, cut uint64) {
	r.eachGauge(m, func(g *course.Gauge, life event.Bytes) { g.Pause(cut, life) })
}

// resume begins the certain part of a meter again at a cut.
func (r *Tree) resume(m event.Meter, cut uint64, slack event.Bytes) {
	r.eachGauge(m, func(g *course.Gauge, _ event.Bytes) { g.Resume(cut, slack) })
}

// FollowPauses ends and begins the certain part of meters at a boundary. NumPy's begins only when the search for its
// arrays is over: until then its value contains arrays from before the pause.
func (r *Tree) FollowPauses(b *event.Boundary, cut uint64) {
	switch b.Kind {
	case event.MeterShed, event.MeterBack:
		r.followArrayPauses(b)
		for _, m := range b.Group.Paused() {
			r.pause(m, cut)
			if m != event.NumPy && !r.Paused[m].Now {
				r.resume(m, cut, course.SlackOf(m, &r.Freed))
			}
		}
	case event.MeterSettled:
		r.followArrayPauses(b)
		if s, known := r.Paused[event.NumPy]; known && !s.Now {
			r.resume(event.NumPy, cut, course.SlackOf(event.NumPy, &r.Freed))
		}
	case event.ProcessExit, event.ProcessExec: // the unknown part of the process ends with it
		r.Gauges.Restart(cut, &r.Freed)
	}
}

// isUnreported reports whether a meter, when a window began, still had its value from before a pause: an allocator
// reports its new total only some time after its probes are back.
func isUnreported(r *Tree, w *Window, m event.Meter) bool {
	if kind := m.Facts().Kind; kind != event.Total && kind != event.Reserve {
		return false
	}
	return r.Gauges.IsUnreported(m, w.Since) || w.Process.Gauges.IsUnreported(m, w.Since)
}

// RecordFrees takes in a boundary's counts of frees. It never lowers a count: boundaries of two CPUs may arrive in the
// wrong order.
func (r *Tree) RecordFrees(f *event.Frees) {
	for kind := range f.Unknown {
		r.Freed.Unknown[kind] = max(r.Freed.Unknown[kind], f.Unknown[kind])
		r.Freed.Slack[kind] = max(r.Freed.Slack[kind], f.Slack[kind])
	}
}

// lower replaces the measured figures of a window by their certain part.
func (r *Tree) lower(m *Measured, w *Window) {
	paused := r.PausedIn(w)
	if len(paused) == 0 {
		return
	}
	w.Process.Gauges.Lowered(m.Own, paused, w.Since, &w.OpenFrees, w.Process.lives.At(w.Since) == 1)
	r.Gauges.Lowered(m.Tree, paused, w.Since, &w.OpenFrees, true)
	for i := range m.Children {
		c := &m.Children[i]
		c.Process.Gauges.Lowered(c.Figures, paused, w.Since, &w.OpenFrees, c.Process.lives.At(w.Since) == 1)
	}
}

// CertainLife returns the certain part of a process's figures from its beginning.
func (p *Process) CertainLife() course.Figures { return p.Gauges.CertainLife(p.Life) }

// BeginPaused marks in a process that begins the meters that are paused.
func (r *Tree) BeginPaused(p *Process) {
	for m, s := range r.Paused {
		if s.Now {
			p.Gauges.Need(m).PausedFromStart()
		}
	}
}

// PausedIn returns the meters that were paused at some time in an open window. If the window's beginning or end is not
// certain, it returns all meters that were ever paused: their values after a pause may be too high.
func (r *Tree) PausedIn(w *Window) (meters []event.Meter) {
	for m, s := range r.Paused {
		if s.in(w.Since) || w.Doubts != nil && w.Doubts.Loose || isUnreported(r, w, m) {
			meters = append(meters, m)
		}
	}
	slices.Sort(meters)
	return meters
}
