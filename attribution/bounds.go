package attribution

import (
	"slices"

	"ipytracer/attribution/internal/course"
	"ipytracer/event"
)

// pausable calls do for the gauges of a meter in a tree: its own, and those of its processes.
func (r *root) pausable(m event.Meter, do func(g *course.Gauge, life event.Bytes)) {
	do(r.past.Need(m), 0)
	for _, p := range r.living {
		do(p.past.Need(m), p.life.Of(m).Highest())
	}
}

// pause ends the certain part of a meter at a cut.
func (r *root) pause(m event.Meter, cut uint64) {
	r.pausable(m, func(g *course.Gauge, life event.Bytes) { g.Pause(cut, life) })
}

// resume begins the certain part again. Arrays are searched first: until the search is over, the meter's value includes
// the arrays found from before. An allocator's total keeps its old value until the allocator reports the next.
func (r *root) resume(m event.Meter, cut uint64, slack event.Bytes) {
	r.pausable(m, func(g *course.Gauge, _ event.Bytes) { g.Resume(cut, slack) })
}

// breaks follows, at a boundary, where the certain part of meters ends and begins.
func (r *root) breaks(b *event.Boundary, cut uint64) {
	switch b.Kind {
	case event.MeterShed, event.MeterBack:
		r.blanksAt(b)
		for _, m := range b.Group.Paused() {
			r.pause(m, cut)
			if m != event.NumPy && !r.shed[m].now {
				r.resume(m, cut, course.SlackOf(m, &r.freed))
			}
		}
	case event.MeterSettled:
		r.blanksAt(b)
		if s, known := r.shed[event.NumPy]; known && !s.now {
			r.resume(event.NumPy, cut, course.SlackOf(event.NumPy, &r.freed))
		}
	case event.ProcessExit, event.ProcessExec: // the unknown part of the process ends with it
		r.past.Restart(cut, &r.freed)
	}
}

// isUnsaid reports whether an allocator with probes that are back had not reported its total yet when a window began:
// until then the total is that from before the pause.
func isUnsaid(r *root, w *window, m event.Meter) bool {
	if kind := m.Facts().Kind; kind != event.Total && kind != event.Reserve {
		return false
	}
	return r.past.IsUnreported(m, w.since) || w.process.past.IsUnreported(m, w.since)
}

// frees takes in a boundary's counts of frees. Boundaries of two CPUs may overtake each other.
func (r *root) frees(f *event.Frees) {
	for kind := range f.Unknown {
		r.freed.Unknown[kind] = max(r.freed.Unknown[kind], f.Unknown[kind])
		r.freed.Slack[kind] = max(r.freed.Slack[kind], f.Slack[kind])
	}
}

// lower replaces the measured figures of a window by their certain part.
func (r *root) lower(m *measured, w *window) {
	shed := r.shedIn(w)
	if len(shed) == 0 {
		return
	}
	w.process.past.Lowered(m.own, shed, w.since, &w.openFrees, w.process.lives.At(w.since) == 1)
	r.past.Lowered(m.tree, shed, w.since, &w.openFrees, true)
	for i := range m.children {
		c := &m.children[i]
		c.process.past.Lowered(c.figures, shed, w.since, &w.openFrees, c.process.lives.At(w.since) == 1)
	}
}

// certainLife returns the certain part of a process's figures from its beginning.
func (p *process) certainLife() course.Figures { return p.past.CertainLife(p.life) }

// bornBlind records which meters are not seen when a process begins.
func (r *root) bornBlind(p *process) {
	for m, s := range r.shed {
		if s.now {
			p.past.Need(m).PausedFromStart()
		}
	}
}

// shedIn returns the meters that were stepped down at some time in a window that is open. If its beginning or end is
// not certain, it returns all that ever were: a meter's value after that may be too high.
func (r *root) shedIn(w *window) (meters []event.Meter) {
	for m, s := range r.shed {
		if s.in(w.since) || w.doubts != nil && w.doubts.loose || isUnsaid(r, w, m) {
			meters = append(meters, m)
		}
	}
	slices.Sort(meters)
	return meters
}
