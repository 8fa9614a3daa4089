package attribution

import (
	"slices"

	"ipytracer/event"
)

// seeLeast takes in a segment that ended at a cut. Where the driver takes memory from an allocator, the allocator's
// meter falls without a total from the allocator.
func (g *gauge) seeLeast(cut uint64, value, high, slack event.Bytes) {
	l := g.least
	if l.waits && (high > g.before || value != g.before && g.meter.Facts().Kind == event.Total) {
		l.begin(observation{from: cut, exact: true})
		if high <= g.before { // the high may be from before the pause
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

// lower returns the certain part of a figure, in a window in which its meter was stepped down: of the peak, and of its
// height above the start and above the end. Start and end are the believed values, as far as these fit together.
func (g *gauge) lower(f figure, w since) figure {
	l := g.least
	if l == nil { // the meter was never stepped down
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
		there := high + s.slack - s.base // certain
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

// restart begins the certain part anew for meters that are seen, but not from the beginning.
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

// certain updates the certain part with a segment that ended at a cut.
func (p *past) certain(cut uint64, value, high *event.Readings, freed *event.Frees) {
	for i := range p.gauges {
		if g := &p.gauges[i]; g.least != nil {
			g.seeLeast(cut, value[g.meter], high[g.meter], slackOf(g.meter, freed))
		}
	}
}

// lowered replaces figures of a past by their certain part, where meters were stepped down.
func (p *past) lowered(all figures, meters []event.Meter, w *window, there bool) {
	for _, m := range meters {
		i := slices.IndexFunc(all, func(f figure) bool { return f.meter == m })
		if g := p.of(m); g != nil && i >= 0 {
			all[i] = g.lower(all[i], since{w.since, there, slackOf(m, &w.openFrees)})
		}
	}
}

// slackOf returns the most bytes that a tree can have freed so far of blocks with unseen allocations.
func slackOf(m event.Meter, freed *event.Frees) (sum event.Bytes) {
	for _, kind := range m.Facts().Unknown {
		sum += freed.Slack[kind]
	}
	return sum
}

// pausable calls do for the gauges of a meter in a tree: its own, and those of its processes.
func (r *root) pausable(m event.Meter, do func(g *gauge, life event.Bytes)) {
	do(r.past.need(m), 0)
	for _, p := range r.living {
		do(p.past.need(m), p.life.of(m).highest())
	}
}

// pause ends the certain part of a meter at a cut.
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

// resume begins the certain part again. Arrays are searched first: until the search is over, the meter's value includes
// the arrays found from before. An allocator's total keeps its old value until the allocator reports the next.
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

// breaks follows, at a boundary, where the certain part of meters ends and begins.
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
	case event.ProcessExit, event.ProcessExec: // the unknown part of the process ends with it
		r.past.restart(cut, &r.freed)
	}
}

// isUnsaid reports whether an allocator with probes that are back had not reported its total yet when a window began:
// until then the total is that from before the pause.
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
	w.process.past.lowered(m.own, shed, w, w.process.lives.at(w.since) == 1)
	r.past.lowered(m.tree, shed, w, true)
	for i := range m.children {
		c := &m.children[i]
		c.process.past.lowered(c.figures, shed, w, c.process.lives.at(w.since) == 1)
	}
}

// certainLife returns the certain part of a process's figures from its beginning.
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

// bornBlind records which meters are not seen when a process begins.
func (r *root) bornBlind(p *process) {
	for m, s := range r.shed {
		if s.now && p.past.need(m).least == nil {
			p.past.need(m).least = &least{}
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
