package attribution

import (
	"slices"

	"ipytracer/event"
)

// Windows that are open have no readings of their own. What a process's meters did, and a tree's, is kept once, as far
// as any window that is open may ask; each knows the cut since which it is open. Cuts are the boundaries of all trees,
// in the order they came. So a boundary costs the same however many windows are open, and so does a window however many
// processes there are.

// gauge is what one meter did.
type gauge struct {
	meter event.Meter
	value steps
	high  peaks // by the kernel's ledger
	seen  peaks // by the change stream
	// least is what is certain of it; nil where it was never stepped down, and all is. before is the value before the
	// last segment.
	least  *least
	before event.Bytes
}

// past is what the meters did of one process, or of a tree. Those that were 0 all the time are not in it.
type past struct{ gauges []gauge }

// of is a meter's gauge, nil if it has always been 0.
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

// value is what a meter has now.
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

// reach takes in the values at a cut as what the change stream must have led to.
func (p *past) reach(cut uint64, value *event.Readings) {
	for i := range p.gauges {
		g := &p.gauges[i]
		g.seen.push(cut, value[g.meter])
	}
}

// raise adds to all that is known of a meter what had been missing.
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

// figures are what is known of the meters in a window that began at a cut and ends now. Without a start they had
// nothing then.
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

// recomputed are the peaks of a window that began at a cut, by the change stream, given its figures.
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
