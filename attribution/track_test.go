package attribution

import (
	"math/rand/v2"
	"testing"

	"ipytracer/attribution/internal/timeline"
	"ipytracer/event"
	"ipytracer/internal/attributiontest"
	"ipytracer/model"
)

// TestTracksHaveEveryPeak compares a track with all values of its meter: it has the values at windows' ends and the
// extremes between them, no value that was not there, and few points, however many changes there were.
func TestTracksHaveEveryPeak(t *testing.T) {
	t.Parallel()
	for seed := range attributiontest.Seeds(16) {
		w := &wander{
			tracker: New(), track: &timeline.Track{Meter: event.NumPy}, random: rand.New(rand.NewPCG(seed, 7)), now: 1,
			was: map[event.Nanoseconds][]event.Bytes{},
		}
		w.tracker.Session.Began = 1
		w.note()
		w.track.Begin(w.now, 0)
		w.run = run{from: w.now}
		for segment := range uint64(60) {
			w.segment(segment)
			if n := len(w.track.Points); n > 2*timeline.MaxFree+4*len(w.runs)+2*timeline.FoldColumns+4 {
				t.Fatalf("seed %d: %d points", seed, n)
			}
		}
		var points []timeline.Point
		for p := range w.track.All(w.tracker.Table.Archive) {
			points = append(points, p)
		}
		for i, p := range points {
			if i > 0 && p.At < points[i-1].At {
				t.Fatalf("seed %d: point %d goes back in time", seed, i)
			}
			if p.Kind == model.PointValue && !wasThere(w.was, p) {
				t.Fatalf("seed %d: %d bytes at %d were never there: %v", seed, p.Bytes, p.At, w.was[p.At])
			}
		}
		for _, r := range w.runs {
			most, least, end := r.of(points)
			want := w.was[r.to][len(w.was[r.to])-1]
			if most != r.most || !r.untold && least != r.least || end != want {
				t.Fatalf("seed %d: from %d to %d: %d to %d, %d in the end, want %d to %d and %d", seed, r.from, r.to,
					least, most, end, r.least, r.most, want)
			}
		}
	}
}

// wander is a meter that moves at random, with its track, and all its values to compare with.
type wander struct {
	tracker *Tracker
	track   *timeline.Track
	random  *rand.Rand
	now     event.Nanoseconds
	value   event.Bytes
	was     map[event.Nanoseconds][]event.Bytes
	run     run
	runs    []run // that are over
}

// run is a time between two ends of windows.
type run struct {
	from, to    event.Nanoseconds
	least, most event.Bytes
	untold      bool
}

func (w *wander) note() { w.was[w.now] = append(w.was[w.now], w.value) }

// segment moves the meter for a while, and then draws a boundary.
func (w *wander) segment(segment uint64) {
	random, one, folds := w.random, &w.run, &w.tracker.timeline.Folds
	before, high, told := w.now, w.value, random.IntN(5) > 0
	for range random.IntN(3000) {
		w.now += 1 + event.Nanoseconds(random.IntN(1<<random.IntN(24)))
		w.value = max(0, w.value+event.Bytes(random.IntN(2001)-1000))
		w.note()
		high, one.least, one.most = max(high, w.value), min(one.least, w.value), max(one.most, w.value)
		if told {
			w.track.AddChange(folds, segment-1, segment, timeline.Moment{At: w.now, Bytes: w.value, Fell: false})
		}
	}
	w.now++
	w.note()
	isEdge := random.IntN(2) == 0
	w.track.See(folds, &timeline.Seen{At: w.now, Segment: segment, Value: w.value, High: high, Hold: before,
		IsEdge: isEdge})
	one.untold = one.untold || !told // the lowest value was not streamed
	if isEdge {
		one.to = w.now
		w.runs = append(w.runs, *one)
		*one = run{w.now, 0, w.value, w.value, false}
		if random.IntN(4) == 0 {
			w.tracker.timeline.Store(w.track)
		}
	}
}

// of returns the highest and the lowest value of points in a run, and the one at its end.
func (r *run) of(points []timeline.Point) (most, least, end event.Bytes) {
	for _, p := range points {
		if p.At > r.to {
			break
		}
		end = p.Bytes
		if p.At <= r.from {
			most, least = p.Bytes, p.Bytes
		}
		most, least = max(most, p.Bytes), min(least, p.Bytes)
	}
	return most, least, end
}

// wasThere reports whether a meter had a value at a time, or since the last time that it moved.
func wasThere(naive map[event.Nanoseconds][]event.Bytes, p timeline.Point) bool {
	for at := p.At; at >= max(0, p.At-1); at-- { // two changes of one instant are a nanosecond apart in a track
		for _, v := range naive[at] {
			if v == p.Bytes {
				return true
			}
		}
	}
	return false
}

// TestTrackOfCrossingBoundaries checks that a boundary that comes after a later one adds nothing for the time between.
func TestTrackOfCrossingBoundaries(t *testing.T) {
	tracker := New()
	k := &timeline.Track{Meter: event.Resident}
	k.Begin(1, 10)
	far := event.Nanoseconds(timeline.Shortest)
	k.See(&tracker.timeline.Folds, &timeline.Seen{At: 20 * far, Segment: 2, Value: 50, High: 50, Hold: 40 * far,
		IsEdge: true})
	last := event.Nanoseconds(0)
	for p := range k.All(tracker.Table.Archive) {
		if p.At < last {
			t.Errorf("%d bytes at %d: the track was at %d", p.Bytes, p.At, last)
		}
		last = p.At
	}
}
