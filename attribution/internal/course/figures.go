package course

import (
	"slices"

	"ipytracer/event"
)

// Figure is one meter's three readings, from which a window derives all its values of the meter.
type Figure struct {
	Start, Peak, End event.Bytes
	Meter            event.Meter
}

// Highest returns the highest of the three readings.
func (f Figure) Highest() event.Bytes { return max(f.Peak, f.Start, f.End) }

// Figures are in ascending order of their meters. A meter without a figure was 0 all the time.
type Figures []Figure

// StartFigures returns figures that begin with these values.
func StartFigures(value *event.Readings, meters []event.Meter) (out Figures) {
	for _, m := range meters {
		if v := value[m]; v != 0 {
			out = append(out, Figure{v, v, v, m})
		}
	}
	return out
}

// Of returns a meter's figure.
func (all Figures) Of(m event.Meter) Figure {
	for _, f := range all {
		if f.Meter == m {
			return f
		}
	}
	return Figure{Meter: m}
}

// Need returns a pointer to a meter's figure, which it adds if there is none.
func (all *Figures) Need(m event.Meter) *Figure {
	i, found := slices.BinarySearchFunc(*all, m, func(f Figure, m event.Meter) int { return int(f.Meter) - int(m) })
	if !found {
		*all = slices.Insert(*all, i, Figure{Meter: m})
	}
	return &(*all)[i]
}

// See takes in the readings at the end of a segment.
func (all *Figures) See(value, high *event.Readings, meters []event.Meter) {
	i := 0 // both lists are in ascending order
	for _, m := range meters {
		for i < len(*all) && (*all)[i].Meter < m {
			i++
		}
		if i == len(*all) || (*all)[i].Meter != m {
			if value[m] == 0 && high[m] == 0 {
				continue
			}
			*all = slices.Insert(*all, i, Figure{Meter: m})
		}
		f := &(*all)[i]
		f.Peak = max(f.Peak, high[m])
		f.End = value[m]
	}
}

// Raise adds bytes that were missing so far to start, peak and end of a meter's figure.
func (all *Figures) Raise(m event.Meter, by event.Bytes) {
	f := all.Need(m)
	f.Start += by
	f.Peak += by
	f.End += by
}

// Level is one value of one meter.
type Level struct {
	Bytes event.Bytes
	Meter event.Meter
}

// Levels are in ascending order of their meters. A meter without a level is 0.
type Levels []Level

// Of returns a meter's level.
func (all Levels) Of(m event.Meter) event.Bytes {
	for _, l := range all {
		if l.Meter == m {
			return l.Bytes
		}
	}
	return 0
}

// Need returns a pointer to a meter's level, which it adds if there is none.
func (all *Levels) Need(m event.Meter) *Level {
	i, found := slices.BinarySearchFunc(*all, m, func(l Level, m event.Meter) int { return int(l.Meter) - int(m) })
	if !found {
		*all = slices.Insert(*all, i, Level{Meter: m})
	}
	return &(*all)[i]
}

// Raise raises a meter's level to at least least.
func (all *Levels) Raise(m event.Meter, least event.Bytes) {
	if least == 0 && all.Of(m) == 0 {
		return
	}
	l := all.Need(m)
	l.Bytes = max(l.Bytes, least)
}

// LevelsOf returns the values that are not 0.
func LevelsOf(value *event.Readings, meters []event.Meter) (out Levels) {
	for _, m := range meters {
		if v := value[m]; v != 0 {
			out = append(out, Level{v, m})
		}
	}
	return out
}

// RaiseAll raises each level to at least the highest value of the meter's figure.
func (all *Levels) RaiseAll(figures Figures) {
	for _, f := range figures {
		all.Raise(f.Meter, f.Highest())
	}
}

// Above reports whether any level is above the highest value of its meter's figure. It ignores paused meters: their
// figures are lower bounds, which cannot be compared.
func (all Levels) Above(figures Figures, paused []event.Meter) bool {
	for _, l := range all {
		if !slices.Contains(paused, l.Meter) && l.Bytes > figures.Of(l.Meter).Highest() {
			return true
		}
	}
	return false
}

// Below reports whether the highest value of any figure is below that of the same meter in others. It ignores paused
// meters.
func (all Figures) Below(others Figures, paused []event.Meter) bool {
	for _, f := range others {
		if !slices.Contains(paused, f.Meter) && all.Of(f.Meter).Highest() < f.Highest() {
			return true
		}
	}
	return false
}

// Key is a meter of a process.
type Key struct {
	PID   int32
	Meter event.Meter
}

// SegmentEnd has the meters of a process at the end of a segment.
type SegmentEnd struct {
	Value  *event.Readings // the values at the end
	High   *event.Readings // the highest values in the segment
	Read   *event.Readings // the highest values of several readings at the end; usually Value
	Waited bool            // High covers more than the segment that ends
}

// Highest returns the higher value of each meter.
func Highest(a event.Readings, b *event.Readings) *event.Readings {
	for m := range a {
		a[m] = max(a[m], b[m])
	}
	return &a
}

// SegmentEnds has, by pid, the processes of a tree that moved in a segment.
type SegmentEnds map[int32]SegmentEnd
