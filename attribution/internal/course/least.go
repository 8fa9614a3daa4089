package course

import (
	"slices"

	"ipytracer/event"
)

// seeLeast takes in a segment that ended at a cut. Where the driver takes memory from an allocator, the allocator's
// meter falls although the allocator has reported no total.
func (g *Gauge) seeLeast(cut uint64, value, high, slack event.Bytes) {
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
	s.highs.Push(cut, high-slack)
	l.top = max(l.top, high-slack+s.slack-s.base)
}

// lower returns the certain part of a figure in a window in which its meter was paused: the certain part of the peak,
// and of the peak's height above the start and above the end. Start and end are the believed values, as far as these
// fit together.
func (g *Gauge) lower(f Figure, w Opening) Figure {
	l := g.least
	if l == nil { // the meter was never paused
		return f
	}
	at, upper, known := l.of(w.cut), event.Bytes(0), !w.there
	if at >= 0 && w.there && l.observations[at].exact {
		upper, known = f.Start, true
	}
	need, peak := event.Bytes(0), event.Bytes(0)
	if known {
		peak = upper
	}
	for i := range l.observations {
		s := &l.observations[i]
		high, ok := s.highs.Since(w.cut)
		if !ok {
			continue
		}
		there := high + s.slack - s.base // certain
		peak = max(peak, there)
		switch {
		case known:
			need = max(need, there-upper)
		case i == at:
			need = max(need, high+w.slack-f.Start)
		}
	}
	peak = max(peak, need)
	return Figure{Start: peak - need, Peak: peak, End: min(peak, max(f.End, peak-l.drop(f.End, w))), Meter: f.Meter}
}

// Restart begins the certain part anew for meters that are seen now, but were not seen from the beginning.
func (p *Gauges) Restart(cut uint64, freed *event.Frees) {
	for i := range p.gauges {
		g := &p.gauges[i]
		if g.least == nil {
			continue
		}
		if s := g.least.now(); s != nil && !s.exact {
			g.least.begin(observation{from: cut, base: g.value.last(), slack: SlackOf(g.meter, freed)})
		}
	}
}

// Certain updates the certain part with a segment that ended at a cut.
func (p *Gauges) Certain(cut uint64, value, high *event.Readings, freed *event.Frees) {
	for i := range p.gauges {
		if g := &p.gauges[i]; g.least != nil {
			g.seeLeast(cut, value[g.meter], high[g.meter], SlackOf(g.meter, freed))
		}
	}
}

// Lowered replaces figures of a window that opened at a cut by their certain part, where meters were paused. freed are
// the frees of unknown blocks up to that cut.
func (p *Gauges) Lowered(all Figures, meters []event.Meter, cut uint64, freed *event.Frees, there bool) {
	for _, m := range meters {
		i := slices.IndexFunc(all, func(f Figure) bool { return f.Meter == m })
		if g := p.of(m); g != nil && i >= 0 {
			all[i] = g.lower(all[i], Opening{cut, there, SlackOf(m, freed)})
		}
	}
}

// SlackOf returns how many bytes at most a tree can have freed so far of blocks whose allocations were not seen.
func SlackOf(m event.Meter, freed *event.Frees) (sum event.Bytes) {
	for _, kind := range m.Facts().Unknown {
		sum += freed.Slack[kind]
	}
	return sum
}

// Pause ends the certain part at a cut. life is the highest value of the process so far.
func (g *Gauge) Pause(cut uint64, life event.Bytes) {
	if g.least == nil {
		first, _ := g.High.Since(0)
		g.least = &lowerBound{observations: []observation{{exact: true, highs: slices.Clone(g.High)}},
			top: max(first, life, g.value.last())}
	}
	g.least.end(cut)
}

// Resume begins the certain part again after a pause. For an allocator's total, which keeps its old value until the
// allocator reports the next one, the certain part waits for that report.
func (g *Gauge) Resume(cut uint64, slack event.Bytes) {
	g.PausedFromStart()
	switch g.meter.Facts().Kind {
	case event.Total, event.Reserve:
		g.least.end(cut)
		g.least.waits = true
	default:
		g.least.begin(observation{from: cut, base: g.value.last(), slack: slack})
	}
}

// PausedFromStart begins the certain part with nothing, if the meter was never paused before.
func (g *Gauge) PausedFromStart() {
	if g.least == nil {
		g.least = &lowerBound{}
	}
}

// IsUnreported reports whether, at a cut, an allocator whose probes are back had not reported its total yet. Until it
// does, the total is that from before the pause.
func (p *Gauges) IsUnreported(m event.Meter, cut uint64) bool {
	g := p.of(m)
	return g != nil && g.least != nil && g.least.of(cut) < 0
}

// CertainLife returns the certain part of a process's figures from its beginning.
func (p *Gauges) CertainLife(life Figures) Figures {
	out := slices.Clone(life)
	for i, f := range out {
		g := p.of(f.Meter)
		if g == nil || g.least == nil {
			continue
		}
		peak := max(f.Start, g.least.top)
		out[i] = Figure{Start: f.Start, Peak: peak, End: min(peak, max(f.End, peak-g.least.drop(f.End, Opening{}))),
			Meter: f.Meter}
	}
	return out
}
