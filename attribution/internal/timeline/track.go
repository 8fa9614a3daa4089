package timeline

import (
	"encoding/binary"
	"iter"
	"slices"

	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/model"
)

// A stretch is a part of a track that is stored at once: a cell, the time between two cells, or maxStretch points.
const (
	MaxFree    = 128             // points of a stretch that no window needs
	maxStretch = 1 << 10         // points of a stretch
	Shortest   = 1 << firstShift // nanoseconds for which a value must hold to become a point of its own
)

// Track has the values over time of one meter of a process, or of a tree.
type Track struct {
	Meter    event.Meter
	value    event.Bytes // at the last boundary
	Points   []Point     // the points that are not stored yet
	edge     int         // number of Points up to the last beginning or end of a window
	atEdge   event.Bytes // the value at edge
	free     int         // number of Points that may be dropped
	isGap    bool
	hasBegun bool
	folds    []fold // values of changes in segments that are not over
	stored   stored
	end      event.Nanoseconds // of the last point
}

// Seen has the values of one meter at a boundary.
type Seen struct {
	At          event.Nanoseconds
	Segment     uint64
	Value, High event.Bytes
	Hold        event.Nanoseconds // time of the boundary before it
	waited      bool              // High covers more than the segment that ends
	IsEdge      bool              // windows begin or end at the boundary
}

// See adds a boundary.
func (k *Track) See(fold *foldMemory, s *Seen) {
	if k.isGap {
		k.drop(fold, s.Segment)
		k.value = s.Value
		return
	}
	if s.Value != k.value || s.High > k.value || len(k.folds) > 0 {
		k.move(fold, s)
	}
	if s.IsEdge {
		k.pin()
	}
	if k.free > 2*MaxFree {
		k.thin()
	}
}

// move adds the points of a segment in which the meter moved.
func (k *Track) move(fold *foldMemory, s *Seen) {
	highest := max(k.value, s.Value)
	waited := s.waited
	moments := fold.moments[:0]
	for i := range k.folds {
		if f := &k.folds[i]; f.segment <= s.Segment {
			moments, waited = f.moments(moments), waited || f.segment < s.Segment
		}
	}
	fold.moments = moments
	k.drop(fold, s.Segment)
	if len(moments) == 0 && s.Value == k.value && s.High <= k.value {
		return
	}
	// The value held until the boundary before: that is a point of its own.
	if k.hasBegun && !waited && s.Hold <= s.At && s.Hold-k.end > max(Shortest, (s.At-k.end)/64) {
		k.add(Point{At: s.Hold, Bytes: k.value, Kind: model.PointValue})
	}
	since := k.end
	if !waited {
		since = max(since, s.Hold)
	}
	for _, m := range moments {
		kind := model.PointValue
		if m.Fell {
			kind = model.PointFell
		}
		highest = max(highest, m.Bytes)
		// A clock is read a moment before or after the meter, so the time of a change may have to be moved into its
		// segment.
		k.add(Point{At: min(max(m.At, since+1, k.end), s.At), Bytes: m.Bytes, Kind: kind})
	}
	if s.High > highest {
		k.add(Point{At: s.At, Bytes: s.High, Kind: model.PointMost})
	}
	if n := len(k.Points); n == 0 || k.Points[n-1].Kind != model.PointValue || k.Points[n-1].Bytes != s.Value {
		k.add(Point{At: s.At, Bytes: s.Value, Kind: model.PointValue})
	}
	k.value = s.Value
}

// Begin adds the first point.
func (k *Track) Begin(at event.Nanoseconds, value event.Bytes) {
	k.add(Point{At: at, Bytes: value, Kind: model.PointValue, kept: true})
	k.value, k.edge, k.atEdge = value, 1, value
}

func (k *Track) add(p Point) {
	k.hasBegun = true
	p.At = max(p.At, k.end) // a process may move to another tree, with an earlier time
	k.Points = append(k.Points, p)
	k.end = p.At
	if !p.kept {
		k.free++
	}
}

// extremes returns the indexes of the highest and of the lowest point after edge, -1 if no point is higher, or lower,
// than the values at edge and now.
func (k *Track) extremes() (most, least int) {
	most, least = -1, -1
	high, low := max(k.atEdge, k.value), min(k.atEdge, k.value)
	for i := k.edge; i < len(k.Points); i++ {
		switch p := &k.Points[i]; {
		case p.Kind == model.PointGap:
		case p.Bytes > high:
			most, high = i, p.Bytes
		case p.Bytes < low:
			least, low = i, p.Bytes
		}
	}
	return most, least
}

// pin keeps the points that windows which begin or end here need: the last point, and the highest and the lowest since
// the last pin.
func (k *Track) pin() {
	if k.edge == len(k.Points) {
		return
	}
	most, least := k.extremes()
	for _, i := range [...]int{most, least, len(k.Points) - 1} {
		if i >= 0 && !k.Points[i].kept {
			k.Points[i].kept = true
			k.free--
		}
	}
	k.edge, k.atEdge = len(k.Points), k.value
}

// thin drops points until MaxFree are left that no window needs: those that change the curve the least. It keeps the
// extremes since the last pin, which a window may still need.
func (k *Track) thin() {
	most, least := k.extremes()
	type weight struct {
		at   int
		area float64
	}
	for k.free > MaxFree {
		var weights []weight
		for i := 0; i < len(k.Points)-1; i++ {
			if !k.Points[i].kept && i != most && i != least {
				weights = append(weights, weight{i, k.area(i)})
			}
		}
		slices.SortStableFunc(weights, func(a, b weight) int {
			switch {
			case a.area < b.area:
				return -1
			case a.area > b.area:
				return 1
			}
			return 0
		})
		drop := make([]bool, len(k.Points)+1)
		freeBefore := k.free
		for _, w := range weights {
			if k.free == MaxFree {
				break
			}
			if w.at > 0 && drop[w.at-1] || drop[w.at+1] { // a neighbour was dropped, so the area is no longer right
				continue
			}
			drop[w.at] = true
			k.free--
		}
		if k.free == freeBefore {
			return
		}
		kept, edge := k.Points[:0], k.edge
		for i, p := range k.Points {
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
		k.Points, k.edge = kept, edge
	}
}

// area returns twice the area of the triangle of a point and its two neighbours.
func (k *Track) area(i int) float64 {
	p, next := k.Points[i], k.Points[i+1]
	before := Point{At: p.At, Bytes: p.Bytes}
	if i > 0 {
		before = k.Points[i-1]
	}
	ax, ay := float64(p.At)-float64(before.At), float64(p.Bytes)-float64(before.Bytes)
	bx, by := float64(next.At)-float64(before.At), float64(next.Bytes)-float64(before.Bytes)
	return max(ax*by-bx*ay, bx*ay-ax*by)
}

// AddChange adds a change to the fold of its segment. Folds of segments up to over, which wait to be drawn, do not
// count for the limit: how long they wait differs between a live session and a replay.
func (k *Track) AddChange(fold *foldMemory, over, segment uint64, m Moment) {
	running := 0
	for i := range k.folds {
		if k.folds[i].segment == segment {
			fold.add(&k.folds[i], m)
			return
		}
		if k.folds[i].segment > over {
			running++
		}
	}
	if running < maxFolds && fold.hasRoom() {
		k.folds = append(k.folds, fold.fold(segment, m))
	}
}

// drop drops the folds of all segments up to segment.
func (k *Track) drop(fold *foldMemory, segment uint64) {
	if len(k.folds) == 0 {
		return
	}
	running := k.folds[:0]
	for i := range k.folds {
		if k.folds[i].segment > segment {
			running = append(running, k.folds[i])
		} else {
			fold.free(&k.folds[i])
		}
	}
	clear(k.folds[len(running):])
	k.folds = running
}

// resume ends a gap at a time from which the meter has a value again.
func (k *Track) resume(at event.Nanoseconds, value event.Bytes) {
	if !k.isGap {
		return
	}
	k.isGap, k.value = false, value
	k.add(Point{At: max(at, k.end), Bytes: value, Kind: model.PointValue, kept: true})
	k.pin()
	k.edge, k.atEdge = len(k.Points), value
}

// pause begins a gap.
func (k *Track) pause(fold *foldMemory, at event.Nanoseconds, reason gap) {
	if k.isGap {
		return
	}
	k.pin()
	k.drop(fold, ^uint64(0))
	k.isGap = true
	k.add(Point{At: max(at, k.end), Bytes: k.value, Kind: model.PointGap, kept: true, gap: reason})
	k.edge, k.atEdge = len(k.Points), k.value
}

// All yields the points of a track, without the folds.
func (k *Track) All(a *windows.Archive) iter.Seq[Point] {
	return func(yield func(Point) bool) {
		for _, at := range k.stored.places {
			record := a.From(at)
			size, n := binary.Uvarint(record)
			if !decode(record[n:n+int(size)], yield) {
				return
			}
		}
		if !decode(k.stored.coded, yield) {
			return
		}
		for _, p := range k.Points {
			if !yield(p) {
				return
			}
		}
	}
}
