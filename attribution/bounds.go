package attribution

import (
	"slices"

	"ipytracer/event"
)

// seeLeast takes in a segment that ended at a cut. What the driver takes from what an allocator holds makes that fall,
// and says no total.
func (g *gauge) seeLeast(cut uint64, value, high, slack event.Bytes) {
	l := g.least
	if l.waits && (high > g.before || value != g.before && g.meter.Facts().Kind == event.Total) {
		l.begin(observation{from: cut, exact: true})
		if high <= g.before { // that may be from before the pause
			high = value
		}
	}
	s := l.now()
	if s == nil {
		return
	}
	if s.exact {
		slack = 0
	}
	s.highs.push(cut, high-slack)
	l.top = max(l.top, high-slack+s.slack-s.base)
}

// lower makes of a figure in such a window what is certain: of the peak, and of how far that is above the start and
// above the end. Start and end are what they are believed to be as far as that goes together.
func (g *gauge) lower(f figure, w since) figure {
	l := g.least
	if l == nil { // it was never stepped down
		return f
	}
	at, upper, known := l.of(w.cut), event.Bytes(0), !w.there
	if at >= 0 && w.there && l.observations[at].exact {
		upper, known = f.start, true
	}
	need, peak := event.Bytes(0), event.Bytes(0)
	if known {
		peak = upper
	}
	for i := range l.observations {
		s := &l.observations[i]
		high, ok := s.highs.since(w.cut)
		if !ok {
			continue
		}
		there := high + s.slack - s.base // for certain
		peak = max(peak, there)
		switch {
		case known:
			need = max(need, there-upper)
		case i == at:
			need = max(need, high+w.slack-f.start)
		}
	}
	peak = max(peak, need)
	return figure{start: peak - need, peak: peak, end: min(peak, max(f.end, peak-l.drop(f.end, w))), meter: f.meter}
}

// restart begins anew what is certain of meters that are seen, but not from the beginning.
func (p *past) restart(cut uint64, freed *event.Frees) {
	for i := range p.gauges {
		g := &p.gauges[i]
		if g.least == nil {
			continue
		}
		if s := g.least.now(); s != nil && !s.exact {
			g.least.begin(observation{from: cut, base: g.value.last(), slack: slackOf(g.meter, freed)})
		}
	}
}

// certain takes in what is certain of a segment that ended at a cut.
func (p *past) certain(cut uint64, value, high *event.Readings, freed *event.Frees) {
	for i := range p.gauges {
		if g := &p.gauges[i]; g.least != nil {
			g.seeLeast(cut, value[g.meter], high[g.meter], slackOf(g.meter, freed))
		}
	}
}

// lowered makes of figures of a past what is certain of them, where meters were stepped down.
func (p *past) lowered(all figures, meters []event.Meter, w *window, there bool) {
	for _, m := range meters {
		i := slices.IndexFunc(all, func(f figure) bool { return f.meter == m })
		if g := p.of(m); g != nil && i >= 0 {
			all[i] = g.lower(all[i], since{w.since, there, slackOf(m, &w.openFrees)})
		}
	}
}

// slackOf is how many bytes a tree freed at most, so far, that had not been seen to be made.
func slackOf(m event.Meter, freed *event.Frees) (sum event.Bytes) {
	for _, kind := range m.Facts().Unknown {
		sum += freed.Slack[kind]
	}
	return sum
}

// pausable are the gauges of a meter in a tree: its own, and those of its processes.
func (r *root) pausable(m event.Meter, do func(g *gauge, life event.Bytes)) {
	do(r.past.need(m), 0)
	for _, p := range r.living {
		do(p.past.need(m), p.life.of(m).highest())
	}
}

// pause ends what is certain of a meter at a cut.
func (r *root) pause(m event.Meter, cut uint64) {
	r.pausable(m, func(g *gauge, life event.Bytes) {
		if g.least == nil {
			first, _ := g.high.since(0)
			g.least = &least{observations: []observation{{exact: true, highs: slices.Clone(g.high)}},
				top: max(first, life, g.value.last())}
		}
		g.least.end(cut)
	})
}

// resume goes on with it. Arrays are looked for first: until that is over, the meter's value has what is found of
// before. An allocator's total is what it was until the allocator says the next.
func (r *root) resume(m event.Meter, cut uint64, slack event.Bytes) {
	r.pausable(m, func(g *gauge, _ event.Bytes) {
		if g.least == nil {
			g.least = &least{}
		}
		switch m.Facts().Kind {
		case event.Total, event.Reserve:
			g.least.end(cut)
			g.least.waits = true
		default:
			g.least.begin(observation{from: cut, base: g.value.last(), slack: slack})
		}
	})
}

// breaks follows at a boundary where what is certain of meters ends and begins.
func (r *root) breaks(b *event.Boundary, cut uint64) {
	switch b.Kind {
	case event.MeterShed, event.MeterBack:
		r.blanksAt(b)
		for _, m := range b.Group.Paused() {
			r.pause(m, cut)
			if m != event.NumPy && !r.shed[m].now {
				r.resume(m, cut, slackOf(m, &r.freed))
			}
		}
	case event.MeterSettled:
		r.blanksAt(b)
		if s, known := r.shed[event.NumPy]; known && !s.now {
			r.resume(event.NumPy, cut, slackOf(event.NumPy, &r.freed))
		}
	case event.ProcessExit, event.ProcessExec: // what is not known of the process goes with it
		r.past.restart(cut, &r.freed)
	}
}

// isUnsaid reports whether an allocator whose total is back had not said it yet when a window began: until then it is
// what it was before the pause.
func isUnsaid(r *root, w *window, m event.Meter) bool {
	if kind := m.Facts().Kind; kind != event.Total && kind != event.Reserve {
		return false
	}
	for _, p := range []*past{&r.past, &w.process.past} {
		if g := p.of(m); g != nil && g.least != nil && g.least.of(w.since) < 0 {
			return true
		}
	}
	return false
}

// frees takes in what a boundary says of that. Two CPUs' boundaries may pass each other.
func (r *root) frees(f *event.Frees) {
	for kind := range f.Unknown {
		r.freed.Unknown[kind] = max(r.freed.Unknown[kind], f.Unknown[kind])
		r.freed.Slack[kind] = max(r.freed.Slack[kind], f.Slack[kind])
	}
}

// lower makes of what the meters say of a window what is certain of it.
func (r *root) lower(m *measured, w *window) {
	shed := r.shedIn(w)
	if len(shed) == 0 {
		return
	}
	w.process.past.lowered(m.own, shed, w, w.process.lives.at(w.since) == 1)
	r.past.lowered(m.tree, shed, w, true)
	for i := range m.children {
		c := &m.children[i]
		c.process.past.lowered(c.figures, shed, w, c.process.lives.at(w.since) == 1)
	}
}

// certainLife are the figures of a process from its beginning, as far as they are certain.
func (p *process) certainLife() figures {
	out := slices.Clone(p.life)
	for i, f := range out {
		g := p.past.of(f.meter)
		if g == nil || g.least == nil {
			continue
		}
		peak := max(f.start, g.least.top)
		out[i] = figure{start: f.start, peak: peak, end: min(peak, max(f.end, peak-g.least.drop(f.end, since{}))),
			meter: f.meter}
	}
	return out
}

// bornBlind notes of a process that begins which meters nobody sees just then.
func (r *root) bornBlind(p *process) {
	for m, s := range r.shed {
		if s.now && p.past.need(m).least == nil {
			p.past.need(m).least = &least{}
		}
	}
}

// shedIn are the meters that were stepped down at some time in a window that is open. Where it begins or ends is not
// certain, they are all that ever were: what a meter says after that may be too much.
func (r *root) shedIn(w *window) (meters []event.Meter) {
	for m, s := range r.shed {
		if s.in(w.since) || w.doubts != nil && w.doubts.loose || isUnsaid(r, w, m) {
			meters = append(meters, m)
		}
	}
	slices.Sort(meters)
	return meters
}
