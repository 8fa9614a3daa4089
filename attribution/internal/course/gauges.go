package course

import (
	"slices"

	"ipytracer/event"
)

// Open windows have no readings of their own. The course of the meters of a process, and of a tree, is kept once, as
// far back as any open window may ask. Each window keeps the cut at which it opened: cuts number the boundaries of all
// trees in the order in which they came. So the cost of a boundary does not depend on the number of open windows, and
// the cost of a window does not depend on the number of processes.

// Gauge is the course of one meter.
type Gauge struct {
	meter event.Meter
	value Steps
	High  Peaks // highs of the kernel's ledger
	Seen  Peaks // highs of the change stream
	// least is the certain part of the value. It is nil if the meter was never paused: all of the value is certain.
	least  *lowerBound
	before event.Bytes // the value before the last segment
}

// Gauges is the course of the meters of one process, or of a tree. A meter that was always 0 has no gauge.
type Gauges struct{ gauges []Gauge }

// of returns a meter's gauge; nil if the meter has always been 0.
func (p *Gauges) of(m event.Meter) *Gauge {
	for i := range p.gauges {
		if p.gauges[i].meter == m {
			return &p.gauges[i]
		}
	}
	return nil
}

// Need returns a meter's gauge. It adds the gauge if there is none.
func (p *Gauges) Need(m event.Meter) *Gauge {
	if g := p.of(m); g != nil {
		return g
	}
	i, _ := slices.BinarySearchFunc(p.gauges, m, func(g Gauge, m event.Meter) int { return int(g.meter) - int(m) })
	p.gauges = slices.Insert(p.gauges, i, Gauge{meter: m})
	return &p.gauges[i]
}

// Value returns the current value of a meter.
func (p *Gauges) Value(m event.Meter) event.Bytes {
	if g := p.of(m); g != nil {
		return g.value.last()
	}
	return 0
}

// See takes in the values and highs of a segment that ended at a cut. latest is the cut at which the youngest open
// window opened.
func (p *Gauges) See(cut, latest uint64, value, high *event.Readings, meters []event.Meter) {
	i := 0 // both lists are in ascending order
	for _, m := range meters {
		for i < len(p.gauges) && p.gauges[i].meter < m {
			i++
		}
		if i == len(p.gauges) || p.gauges[i].meter != m {
			if value[m] == 0 && high[m] == 0 {
				continue
			}
			p.Need(m)
		}
		g := &p.gauges[i]
		g.before = g.value.last()
		g.value.Set(cut, latest, value[m])
		g.High.Push(cut, high[m])
	}
}

// Reach takes in values at a cut as highs of the change stream, whose changes must have led to them.
func (p *Gauges) Reach(cut uint64, value *event.Readings) {
	for i := range p.gauges {
		g := &p.gauges[i]
		g.Seen.Push(cut, value[g.meter])
	}
}

// Raise adds missing bytes to all kept values and maxima of a meter.
func (p *Gauges) Raise(cut uint64, m event.Meter, by event.Bytes) {
	g := p.Need(m)
	for i := range g.value {
		g.value[i].bytes += by
	}
	if len(g.value) == 0 {
		g.value = Steps{{0, by}}
	}
	for i := range g.High {
		g.High[i].bytes += by
	}
}

// Clear sets all meters to 0.
func (p *Gauges) Clear(cut, latest uint64) {
	for i := range p.gauges {
		p.gauges[i].value.Set(cut, latest, 0)
	}
}

// Figures returns the figures of a window that began at a cut and ends now. If start is false, the meters were 0 at the
// cut.
func (p *Gauges) Figures(since uint64, start bool) Figures {
	out := make(Figures, 0, len(p.gauges))
	for i := range p.gauges {
		g := &p.gauges[i]
		f := Figure{Meter: g.meter, End: g.value.last()}
		if start {
			f.Start = g.value.At(since)
		}
		f.Peak = f.Start
		if high, ok := g.High.Since(since); ok {
			f.Peak = max(f.Peak, high)
		}
		if f != (Figure{Meter: g.meter}) {
			out = append(out, f)
		}
	}
	return out
}

// Recomputed returns the peaks of a window as the change stream shows them. The window began at the cut since, and own
// are its figures by the kernel's ledger.
func (p *Gauges) Recomputed(since uint64, own Figures) Levels {
	var out Levels
	for i := range p.gauges {
		g := &p.gauges[i]
		peak := own.Of(g.meter).Start
		if seen, ok := g.Seen.Since(since); ok {
			peak = max(peak, seen)
		}
		if peak != 0 {
			out = append(out, Level{peak, g.meter})
		}
	}
	return out
}

// Thin drops marks from gauges that have more than most marks, and keeps those that open windows need. cuts returns the
// cuts at which the open windows opened.
func (p *Gauges) Thin(most int, cuts func() []uint64) {
	for i := range p.gauges {
		g := &p.gauges[i]
		if len(g.value) <= most && len(g.High) <= most && len(g.Seen) <= most {
			continue
		}
		open := cuts()
		g.value.thin(open)
		g.High.Thin(open)
		g.Seen.Thin(open)
		if g.least != nil {
			for i := range g.least.observations {
				g.least.observations[i].highs.Thin(open)
			}
		}
	}
}
