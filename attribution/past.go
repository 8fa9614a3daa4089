package attribution

import (
	"slices"

	"ipytracer/event"
)

// Open windows have no readings of their own. The course of the meters of a process, and of a tree, is kept once, as
// far back as any open window may ask; each window has the cut at which it opened. Cuts are the boundaries of all
// trees, in the order they came. So the cost of a boundary does not depend on the number of open windows, nor the cost
// of a window on the number of processes.

// gauge is the course of one meter.
type gauge struct {
	meter event.Meter
	value steps
	high  peaks // by the kernel's ledger
	seen  peaks // by the change stream
	// least is the certain part of it; nil where the meter was never stepped down, and all of it is certain. before is
	// the value before the last segment.
	least  *least
	before event.Bytes
}

// past is the course of the meters of one process, or of a tree. Meters that were always 0 are not in it.
type past struct{ gauges []gauge }

// of returns a meter's gauge, nil if the meter has always been 0.
func (p *past) of(m event.Meter) *gauge {
	for i := range p.gauges {
		if p.gauges[i].meter == m {
			return &p.gauges[i]
		}
	}
	return nil
}

func (p *past) need(m event.Meter) *gauge {
	if g := p.of(m); g != nil {
		return g
	}
	i, _ := slices.BinarySearchFunc(p.gauges, m, func(g gauge, m event.Meter) int { return int(g.meter) - int(m) })
	p.gauges = slices.Insert(p.gauges, i, gauge{meter: m})
	return &p.gauges[i]
}

// value returns the current value of a meter.
func (p *past) value(m event.Meter) event.Bytes {
	if g := p.of(m); g != nil {
		return g.value.last()
	}
	return 0
}

// see takes in a segment that ended at a cut.
func (p *past) see(cut, latest uint64, value, high *event.Readings, meters []event.Meter) {
	for _, m := range meters {
		g := p.of(m)
		if g == nil && value[m] == 0 && high[m] == 0 {
			continue
		}
		if g == nil {
			g = p.need(m)
		}
		g.before = g.value.last()
		g.value.set(cut, latest, value[m])
		g.high.push(cut, high[m])
	}
}

// reach takes in the values at a cut, to which the change stream must have led.
func (p *past) reach(cut uint64, value *event.Readings) {
	for i := range p.gauges {
		g := &p.gauges[i]
		g.seen.push(cut, value[g.meter])
	}
}

// raise adds missing bytes to all kept values and maxima of a meter.
func (p *past) raise(cut uint64, m event.Meter, by event.Bytes) {
	g := p.need(m)
	for i := range g.value {
		g.value[i].bytes += by
	}
	if len(g.value) == 0 {
		g.value = steps{{0, by}}
	}
	for i := range g.high {
		g.high[i].bytes += by
	}
}

// clear sets all meters to 0.
func (p *past) clear(cut, latest uint64) {
	for i := range p.gauges {
		p.gauges[i].value.set(cut, latest, 0)
	}
}

// figures returns the figures of a window that began at a cut and ends now. Without a start the meters were 0 at that
// cut.
func (p *past) figures(since uint64, start bool) figures {
	out := make(figures, 0, len(p.gauges))
	for i := range p.gauges {
		g := &p.gauges[i]
		f := figure{meter: g.meter, end: g.value.last()}
		if start {
			f.start = g.value.at(since)
		}
		f.peak = f.start
		if high, ok := g.high.since(since); ok {
			f.peak = max(f.peak, high)
		}
		if f != (figure{meter: g.meter}) {
			out = append(out, f)
		}
	}
	return out
}

// recomputed returns the peaks of a window that began at a cut, by the change stream, given its figures.
func (p *past) recomputed(since uint64, own figures) levels {
	var out levels
	for i := range p.gauges {
		g := &p.gauges[i]
		peak := own.of(g.meter).start
		if seen, ok := g.seen.since(since); ok {
			peak = max(peak, seen)
		}
		if peak != 0 {
			out = append(out, level{peak, g.meter})
		}
	}
	return out
}

// thin drops the marks of gauges with more than most, except those that open windows need: cuts returns the cuts at
// which these opened.
func (p *past) thin(most int, cuts func() []uint64) {
	for i := range p.gauges {
		g := &p.gauges[i]
		if len(g.value) <= most && len(g.high) <= most && len(g.seen) <= most {
			continue
		}
		open := cuts()
		g.value.thin(open)
		g.high.thin(open)
		g.seen.thin(open)
		if g.least != nil {
			for i := range g.least.observations {
				g.least.observations[i].highs.thin(open)
			}
		}
	}
}
