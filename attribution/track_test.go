package attribution

import (
	"math/rand/v2"
	"testing"

	"ipytracer/event"
	"ipytracer/model"
)

// TestTrack compares a track with all that its meter did: it has the values at windows' ends and the extremes between them, no value that
// was not there, and few points, however many changes there were.
func TestTrack(t *testing.T) {
	for seed := range uint64(16) {
		random := rand.New(rand.NewPCG(seed, 7))
		tracker := New()
		tracker.began = 1
		k := &track{meter: event.NumPy}
		now, value, naive, edges := event.Nanoseconds(1), event.Bytes(0), map[event.Nanoseconds][]event.Bytes{}, 0
		note := func() { naive[now] = append(naive[now], value) }
		note()
		k.begin(now, 0)
		type run struct {
			from, to    event.Nanoseconds
			least, most event.Bytes
			untold      bool
		}
		var runs []run
		one := run{from: now}
		for segment := range uint64(60) {
			before, high, told := now, value, random.IntN(5) > 0
			for range random.IntN(3000) {
				now += 1 + event.Nanoseconds(random.IntN(1<<random.IntN(24)))
				value = max(0, value+event.Bytes(random.IntN(2001)-1000))
				note()
				high, one.least, one.most = max(high, value), min(one.least, value), max(one.most, value)
				if told {
					k.tell(&tracker.timeline, segment-1, segment, moment{now, value, false})
				}
			}
			now++
			note()
			isEdge := random.IntN(2) == 0
			k.see(&tracker.timeline, &seen{at: now, segment: segment, value: value, high: high, hold: before, isEdge: isEdge})
			one.untold = one.untold || !told // nobody said how low it was
			if isEdge {
				edges++
				one.to = now
				runs = append(runs, one)
				one = run{now, 0, value, value, false}
				if random.IntN(4) == 0 {
					tracker.store(k)
				}
			}
			if len(k.points) > 2*maxFree+4*edges+2*foldColumns+4 {
				t.Fatalf("seed %d: %d points", seed, len(k.points))
			}
		}
		var points []point
		for p := range k.all(&tracker.archive) {
			points = append(points, p)
		}
		for i, p := range points {
			if i > 0 && p.at < points[i-1].at {
				t.Fatalf("seed %d: point %d goes back in time", seed, i)
			}
			if p.kind == model.PointValue && !wasThere(naive, p) {
				t.Fatalf("seed %d: %d bytes at %d were never there: %v", seed, p.bytes, p.at, naive[p.at])
			}
		}
		for _, r := range runs {
			most, least, end := event.Bytes(0), event.Bytes(0), event.Bytes(0)
			for _, p := range points {
				if p.at > r.to {
					break
				}
				end = p.bytes
				if p.at <= r.from {
					most, least = p.bytes, p.bytes
				}
				most, least = max(most, p.bytes), min(least, p.bytes)
			}
			if want := naive[r.to][len(naive[r.to])-1]; most != r.most || !r.untold && least != r.least || end != want {
				t.Fatalf("seed %d: from %d to %d: %d to %d, %d in the end, want %d to %d and %d", seed, r.from, r.to, least, most, end, r.least, r.most, want)
			}
		}
	}
}

// wasThere says whether a meter had a value at a time, or since the last time that it moved.
func wasThere(naive map[event.Nanoseconds][]event.Bytes, p point) bool {
	for at := p.at; at >= max(0, p.at-1); at-- { // two changes of one instant are a nanosecond apart in a track
		for _, v := range naive[at] {
			if v == p.bytes {
				return true
			}
		}
	}
	return false
}

// TestTrackOfCrossingBoundaries: a boundary that comes behind a later one says nothing of the time between.
func TestTrackOfCrossingBoundaries(t *testing.T) {
	tracker := New()
	k := &track{meter: event.Resident}
	k.begin(1, 10)
	far := event.Nanoseconds(shortest)
	k.see(&tracker.timeline, &seen{at: 20 * far, segment: 2, value: 50, high: 50, hold: 40 * far, isEdge: true})
	last := event.Nanoseconds(0)
	for p := range k.all(&tracker.archive) {
		if p.at < last {
			t.Errorf("%d bytes at %d: the track was at %d", p.bytes, p.at, last)
		}
		last = p.at
	}
}
