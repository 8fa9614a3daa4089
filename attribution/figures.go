package attribution

import (
	"slices"

	"ipytracer/event"
)

// figure is one meter's three readings, from which a window derives all its values of the meter.
type figure struct {
	start, peak, end event.Bytes
	meter            event.Meter
}

// highest returns the highest of the three readings.
func (f figure) highest() event.Bytes { return max(f.peak, f.start, f.end) }

// figures are by meter, ascending. A meter that is not there was 0 all the time.
type figures []figure

func startFigures(value *event.Readings, meters []event.Meter) (out figures) {
	for _, m := range meters {
		if v := value[m]; v != 0 {
			out = append(out, figure{v, v, v, m})
		}
	}
	return out
}

// of returns a meter's figure.
func (all figures) of(m event.Meter) figure {
	for _, f := range all {
		if f.meter == m {
			return f
		}
	}
	return figure{meter: m}
}

// need returns a meter's figure to be changed, and adds it if it is not there.
func (all *figures) need(m event.Meter) *figure {
	i, found := slices.BinarySearchFunc(*all, m, func(f figure, m event.Meter) int { return int(f.meter) - int(m) })
	if !found {
		*all = slices.Insert(*all, i, figure{meter: m})
	}
	return &(*all)[i]
}

// see takes in the readings at the end of a segment.
func (all *figures) see(value, high *event.Readings, meters []event.Meter) {
	for _, m := range meters {
		if value[m] == 0 && high[m] == 0 && all.of(m) == (figure{meter: m}) {
			continue
		}
		f := all.need(m)
		f.peak = max(f.peak, high[m])
		f.end = value[m]
	}
}

// raise adds bytes that had been missing to all figures of a meter.
func (all *figures) raise(m event.Meter, by event.Bytes) {
	f := all.need(m)
	f.start += by
	f.peak += by
	f.end += by
}

// level is one value of one meter.
type level struct {
	bytes event.Bytes
	meter event.Meter
}

// levels are by meter, ascending. A meter that is not there is 0.
type levels []level

func (all levels) of(m event.Meter) event.Bytes {
	for _, l := range all {
		if l.meter == m {
			return l.bytes
		}
	}
	return 0
}

func (all *levels) need(m event.Meter) *level {
	i, found := slices.BinarySearchFunc(*all, m, func(l level, m event.Meter) int { return int(l.meter) - int(m) })
	if !found {
		*all = slices.Insert(*all, i, level{meter: m})
	}
	return &(*all)[i]
}

// raise raises a level to a value, if it is lower.
func (all *levels) raise(m event.Meter, to event.Bytes) {
	if to == 0 && all.of(m) == 0 {
		return
	}
	l := all.need(m)
	l.bytes = max(l.bytes, to)
}

// levelsOf returns the meters that are not 0.
func levelsOf(value *event.Readings, meters []event.Meter) (out levels) {
	for _, m := range meters {
		if v := value[m]; v != 0 {
			out = append(out, level{v, m})
		}
	}
	return out
}

// raiseAll makes levels as high as the highest of figures.
func (all *levels) raiseAll(to figures) {
	for _, f := range to {
		all.raise(f.meter, f.highest())
	}
}

// above reports whether any level is above the highest value of its figure. Meters that were stepped down are left out:
// their figures are lower bounds, each for itself.
func (all levels) above(of figures, shed []event.Meter) bool {
	for _, l := range all {
		if !slices.Contains(shed, l.meter) && l.bytes > of.of(l.meter).highest() {
			return true
		}
	}
	return false
}

// below reports whether any figure is below the other figure of its meter, apart from meters that were stepped down.
func (all figures) below(others figures, shed []event.Meter) bool {
	for _, f := range others {
		if !slices.Contains(shed, f.meter) && all.of(f.meter).highest() < f.highest() {
			return true
		}
	}
	return false
}

// heldKey is a meter of a process.
type heldKey struct {
	pid   int32
	meter event.Meter
}

// movement is the values of a process: the current ones, the maxima, and the highest of those in readings.
type movement struct {
	value, high, looked *event.Readings
	waited              bool // the movement covers more than the segment that ends
}

func highest(a event.Readings, b *event.Readings) *event.Readings {
	for m := range a {
		a[m] = max(a[m], b[m])
	}
	return &a
}

// moves are the movements of a tree's processes in one segment.
type moves map[int32]movement
