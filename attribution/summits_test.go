package attribution

import (
	"maps"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/attributiontest"
	"ipytracer/model"
)

// TestSummitsAreThoseOfTheFigures checks that the highest moments of random sessions are those of their figures, and
// that the processes had at least that much together: each has the most that it had in the segment.
func TestSummitsAreThoseOfTheFigures(t *testing.T) {
	t.Parallel()
	several := 0
	for seed := range attributiontest.Seeds(60) {
		tracker := New()
		attributiontest.Anything(tracker.Add, seed, 400)
		r := tracker.Report()
		for _, s := range r.Summits {
			sum := int64(0)
			for _, p := range s.Processes {
				sum += p.Bytes
			}
			if len(s.Processes) > 1 {
				several++
			}
			for _, w := range r.Windows {
				if f, _ := w.Together(s.Meter); w.Kind == model.Session && w.PID == s.PID &&
					(f.Exact && f.Peak != s.Bytes || f.Exact && sum < s.Bytes) {
					t.Errorf("seed %d, %s: %d at the summit, %d of its processes, the figure is %d", seed, s.Meter,
						s.Bytes, sum, f.Peak)
				}
			}
		}
	}
	if several == 0 {
		t.Error("no summit of several processes")
	}
}

// TestSummitOfEndedChildren checks that a child that had ended before the highest moment has no part in it, and that
// one that lives has what it had then.
func TestSummitOfEndedChildren(t *testing.T) {
	s := newScript()
	s.openCell(1, true)
	s.born(200, 0)
	s.boundary(event.ProcessStart, 200, func(b *event.Boundary) { b.Parent = main })
	s.to(200, 300)
	s.to(200, 100)
	s.boundary(event.ProcessExit, 200)
	s.order = []int32{main}
	s.born(201, 0)
	s.boundary(event.ProcessStart, 201, func(b *event.Boundary) { b.Parent = main })
	s.to(201, 50)
	s.to(main, 1000)
	s.closeCell(1, event.OutcomeOK)
	s.to(201, 70)
	s.to(main, 10)
	r := s.run(t)
	found := false
	for _, one := range r.Summits {
		if one.Meter != event.Resident.String() {
			continue
		}
		found = true
		expect(t, "bytes", one.Bytes, int64(1050))
		got := map[int]int64{}
		for _, p := range one.Processes {
			got[p.PID] = p.Bytes
		}
		if want := map[int]int64{int(main): 1000, 201: 50}; !maps.Equal(got, want) {
			t.Errorf("processes: %v, want %v", got, want)
		}
	}
	if !found {
		t.Errorf("no summit: %+v", r.Summits)
	}
}
