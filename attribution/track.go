package attribution

import (
	"encoding/binary"
	"iter"
	"slices"

	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/model"
)

// Number of points that a stretch of a track has, beside those that windows need. A stretch is a cell, or the time
// between two, or a part with the maximum of points that windows need.
const (
	maxFree    = 128
	maxStretch = 1 << 10
	shortest   = 1 << firstShift // least time that a meter stands still for that to be a point
)

// track has the values over time of one meter of a process, or of a tree.
type track struct {
	meter    event.Meter
	value    event.Bytes // at the last boundary
	points   []point     // that are not stored yet
	edge     int         // number of these up to the last beginning or end of a window
	atEdge   event.Bytes // the value there
	free     int         // number of points that may be thinned
	isGap    bool
	hasBegun bool
	folds    []fold // values of changes in segments that are not over
	stored   stored
	end      event.Nanoseconds // of the last point
}

// seen has the values of one meter at a boundary.
type seen struct {
	at          event.Nanoseconds
	segment     uint64
	value, high event.Bytes
	hold        event.Nanoseconds // time of the boundary before it
	waited      bool              // its high is not only of the segment that ends
	isEdge      bool              // windows begin or end there
}

// see adds a boundary.
func (k *track) see(f *foldMemory, s *seen) {
	if k.isGap {
		k.drop(f, s.segment)
		k.value = s.value
		return
	}
	if s.value != k.value || s.high > k.value || len(k.folds) > 0 {
		k.move(f, s)
	}
	if s.isEdge {
		k.pin()
	}
	if k.free > 2*maxFree {
		k.thin()
	}
}

// move adds the points of a segment in which the meter moved.
func (k *track) move(f *foldMemory, s *seen) {
	highest := max(k.value, s.value)
	waited := s.waited
	moments := f.moments[:0]
	for i := range k.folds {
		if f := &k.folds[i]; f.segment <= s.segment {
			moments, waited = f.moments(moments), waited || f.segment < s.segment
		}
	}
	f.moments = moments
	k.drop(f, s.segment)
	if len(moments) == 0 && s.value == k.value && s.high <= k.value {
		return
	}
	// it stood still until then
	if k.hasBegun && !waited && s.hold <= s.at && s.hold-k.end > max(shortest, (s.at-k.end)/64) {
		k.add(point{at: s.hold, bytes: k.value, kind: model.PointValue})
	}
	since := k.end
	if !waited {
		since = max(since, s.hold)
	}
	for _, m := range moments {
		kind := model.PointValue
		if m.fell {
			kind = model.PointFell
		}
		highest = max(highest, m.bytes)
		// A clock is read a moment before or after the meter: the time of a change is moved into its segment.
		k.add(point{at: min(max(m.at, since+1, k.end), s.at), bytes: m.bytes, kind: kind})
	}
	if s.high > highest {
		k.add(point{at: s.at, bytes: s.high, kind: model.PointMost})
	}
	if n := len(k.points); n == 0 || k.points[n-1].kind != model.PointValue || k.points[n-1].bytes != s.value {
		k.add(point{at: s.at, bytes: s.value, kind: model.PointValue})
	}
	k.value = s.value
}

// begin adds the first point.
func (k *track) begin(at event.Nanoseconds, value event.Bytes) {
	k.add(point{at: at, bytes: value, kind: model.PointValue, kept: true})
	k.value, k.edge, k.atEdge = value, 1, value
}

func (k *track) add(p point) {
	k.hasBegun = true
	p.at = max(p.at, k.end) // a process may move to another tree, with an earlier time
	k.points = append(k.points, p)
	k.end = p.at
	if !p.kept {
		k.free++
	}
}

// extremes returns the indexes of the highest and of the lowest point since the last window began or ended, -1 where
// these are the values at its ends.
func (k *track) extremes() (most, least int) {
	most, least = -1, -1
	high, low := max(k.atEdge, k.value), min(k.atEdge, k.value)
	for i := k.edge; i < len(k.points); i++ {
		switch p := &k.points[i]; {
		case p.kind == model.PointGap:
		case p.bytes > high:
			most, high = i, p.bytes
		case p.bytes < low:
			least, low = i, p.bytes
		}
	}
	return most, least
}

// pin marks as kept the points needed by windows that begin or end here: the last one, and the highest and the lowest
// since the last pin.
func (k *track) pin() {
	if k.edge == len(k.points) {
		return
	}
	most, least := k.extremes()
	for _, i := range [...]int{most, least, len(k.points) - 1} {
		if i >= 0 && !k.points[i].kept {
			k.points[i].kept = true
			k.free--
		}
	}
	k.edge, k.atEdge = len(k.points), k.value
}

// thin drops the points that change the picture the least, except those that windows need or will need.
func (k *track) thin() {
	most, least := k.extremes()
	type weight struct {
		at   int
		area float64
	}
	for k.free > maxFree {
		var all []weight
		for i := 0; i < len(k.points)-1; i++ {
			if !k.points[i].kept && i != most && i != least {
				all = append(all, weight{i, k.area(i)})
			}
		}
		slices.SortStableFunc(all, func(a, b weight) int {
			switch {
			case a.area < b.area:
				return -1
			case a.area > b.area:
				return 1
			}
			return 0
		})
		drop := make([]bool, len(k.points)+1)
		left := k.free
		for _, w := range all {
			if k.free == maxFree {
				break
			}
			if w.at > 0 && drop[w.at-1] || drop[w.at+1] { // its neighbours have changed
				continue
			}
			drop[w.at] = true
			k.free--
		}
		if k.free == left {
			return
		}
		kept, edge := k.points[:0], k.edge
		for i, p := range k.points {
			if drop[i] {
				if i < k.edge {
					edge--
				}
				continue
			}
			if i == most {
				most = len(kept)
			} else if i == least {
				least = len(kept)
			}
			kept = append(kept, p)
		}
		k.points, k.edge = kept, edge
	}
}

// area returns the area of the triangle of a point and its neighbours, doubled.
func (k *track) area(i int) float64 {
	p, next := k.points[i], k.points[i+1]
	before := point{at: p.at, bytes: p.bytes}
	if i > 0 {
		before = k.points[i-1]
	}
	ax, ay := float64(p.at)-float64(before.at), float64(p.bytes)-float64(before.bytes)
	bx, by := float64(next.at)-float64(before.at), float64(next.bytes)-float64(before.bytes)
	return max(ax*by-bx*ay, bx*ay-ax*by)
}

// tell adds a change to the fold of its segment. Folds up to the segment that is over, which wait to be drawn, do not
// count for the limit: they wait for another time in a live session than in a replay.
func (k *track) tell(f *foldMemory, over, segment uint64, m moment) {
	running := 0
	for i := range k.folds {
		if k.folds[i].segment == segment {
			f.add(&k.folds[i], m)
			return
		}
		if k.folds[i].segment > over {
			running++
		}
	}
	if running < maxFolds && f.hasRoom() {
		k.folds = append(k.folds, f.fold(segment, m))
	}
}

// drop drops the folds of all segments up to one.
func (k *track) drop(f *foldMemory, segment uint64) {
	if len(k.folds) == 0 {
		return
	}
	left := k.folds[:0]
	for i := range k.folds {
		if k.folds[i].segment > segment {
			left = append(left, k.folds[i])
		} else {
			f.free(&k.folds[i])
		}
	}
	clear(k.folds[len(left):])
	k.folds = left
}

// resume ends a gap, where the meter has a value again.
func (k *track) resume(at event.Nanoseconds, value event.Bytes) {
	if !k.isGap {
		return
	}
	k.isGap, k.value = false, value
	k.add(point{at: max(at, k.end), bytes: value, kind: model.PointValue, kept: true})
	k.pin()
	k.edge, k.atEdge = len(k.points), value
}

// pause begins a gap.
func (k *track) pause(f *foldMemory, at event.Nanoseconds, reason gap) {
	if k.isGap {
		return
	}
	k.pin()
	k.drop(f, ^uint64(0))
	k.isGap = true
	k.add(point{at: max(at, k.end), bytes: k.value, kind: model.PointGap, kept: true, gap: reason})
	k.edge, k.atEdge = len(k.points), k.value
}

// all yields the points of a track, without the folds.
func (k *track) all(a *windows.Archive) iter.Seq[point] {
	return func(yield func(point) bool) {
		for _, at := range k.stored.places {
			record := a.Of(at)
			size, n := binary.Uvarint(record)
			if !decode(record[n:n+int(size)], yield) {
				return
			}
		}
		if !decode(k.stored.coded, yield) {
			return
		}
		for _, p := range k.points {
			if !yield(p) {
				return
			}
		}
	}
}
