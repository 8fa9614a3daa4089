package course

import (
	"slices"

	"ipytracer/event"
)

// addSegment takes in a segment that ended at a cut. While it waits for an allocator's report, a fall of the meter is
// no report: it falls, too, when the driver takes memory from the allocator.
func (g *Gauge) addSegment(cut uint64, value, high, slack event.Bytes) {
	l := g.least
	if l.waits && (high > g.before || value != g.before && g.meter.Facts().Kind == event.Total) {
		l.begin(observation{from: cut, exact: true})
		if high <= g.before { // the high may be from before the pause
			high = value
		}
	}
	s := l.current()
	if s == nil {
		return
	}
	if s.exact {
		slack = 0
	}
	s.highs.Push(cut, high-slack)
	l.top = max(l.top, high-slack+s.slack-s.base)
}

// lower returns the certain part of a figure in a window in which its meter was paused. Certain are the peak, the rise
// from the start to the peak, and the drop from the peak to the end. Start and end are set to fit these.
func (g *Gauge) lower(f Figure, w Opening) Figure {
	l := g.least
	if l == nil { // the meter was never paused
		return f
	}
	opening, start, known := l.indexAt(w.cut), event.Bytes(0), !w.there
	if opening >= 0 && w.there && l.observations[opening].exact {
		start, known = f.Start, true
	}
	rise, peak := event.Bytes(0), event.Bytes(0)
	if known {
		peak = start
	}
	for i := range l.observations {
		s := &l.observations[i]
		high, ok := s.highs.Since(w.cut)
		if !ok {
			continue
		}
		certain := high + s.slack - s.base // certain
		peak = max(peak, certain)
		switch {
		case known:
			rise = max(rise, certain-start)
		case i == opening:
			rise = max(rise, high+w.slack-f.Start)
		}
	}
	peak = max(peak, rise)
	return Figure{Start: peak - rise, Peak: peak, End: min(peak, max(f.End, peak-l.drop(f.End, w))), Meter: f.Meter}
}

// Restart begins the certain part anew for meters that are seen now, but were not seen from the beginning.
func (p *Gauges) Restart(cut uint64, freed *event.Frees) {
	for i := range p.gauges {
		g := &p.gauges[i]
		if g.least == nil {
			continue
		}
		if s := g.least.current(); s != nil && !s.exact {
			g.least.begin(observation{from: cut, base: g.value.last(), slack: SlackOf(g.meter, freed)})
		}
	}
}

// Certain adds a segment that ended at a cut to the certain part of each meter.
func (p *Gauges) Certain(cut uint64, value, high *event.Readings, freed *event.Frees) {
	for i := range p.gauges {
		if g := &p.gauges[i]; g.least != nil {
			g.addSegment(cut, value[g.meter], high[g.meter], SlackOf(g.meter, freed))
		}
	}
}

// Lowered replaces the figures of meters by their certain part, in a window that opened at a cut. freed has the frees
// of unknown blocks up to that cut. there: the process lived then.
func (p *Gauges) Lowered(all Figures, meters []event.Meter, cut uint64, freed *event.Frees, there bool) {
	for _, m := range meters {
		i := slices.IndexFunc(all, func(f Figure) bool { return f.Meter == m })
		if g := p.of(m); g != nil && i >= 0 {
			all[i] = g.lower(all[i], Opening{cut, there, SlackOf(m, freed)})
		}
	}
}

// SlackOf returns the most bytes that a tree can have freed so far of blocks whose allocations were not seen.
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

// Resume begins the certain part again after a pause. An allocator's total keeps its old value until the allocator
// reports the next one, so its certain part begins only with that report.
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

// IsUnreported reports whether a meter, at a cut, still had its value from before a pause: the probes were back, but
// the allocator had not reported its total yet.
func (p *Gauges) IsUnreported(m event.Meter, cut uint64) bool {
	g := p.of(m)
	return g != nil && g.least != nil && g.least.indexAt(cut) < 0
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
