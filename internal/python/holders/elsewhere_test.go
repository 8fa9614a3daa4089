package holders

import (
	"context"
	"slices"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/python/holders/objects"
)

// TestCyclesThatWaitForTheCollector: a cycle that waits for the collector shares its objects with a name, and one that
// code in C holds keeps them: no node is made for that one, nor for anything that it leads to.
func TestCyclesThatWaitForTheCollector(t *testing.T) {
	eachVersion(t, func(t *testing.T, f *fake) {
		const size = 100_000
		ofWaste, ofHeld := f.Refs(f.List(f.bigText(size)), 2), f.Refs(f.List(f.bigText(size)), 2)
		behind := f.List(f.bigText(size))
		waste, held := f.List(0, ofWaste), f.Refs(f.List(0, ofHeld, behind), 2)
		for _, cycle := range []uint64{waste, held} {
			f.Put(f.Word(cycle+uint64(f.Heap.ListItems)), cycle)
		}
		f.Collect(waste, held, behind)
		f.Main("a", ofWaste, "b", ofHeld)
		s, err := newSurvey(context.Background(), f.Heap, f.Memory(), Process{Mapped: everything}, objects.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		l, err := s.List(context.Background(), objects.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		together := slices.ContainsFunc(l.Shares,
			func(s event.Share) bool { return len(s.Owners) == 2 && s.Bytes >= size && s.Bytes < 2*size })
		if !together || len(l.Shares) != 1 || l.Total < 3*size {
			t.Errorf("%d bytes, shares %+v of %+v", l.Total, l.Shares, l.Owners)
		}
	})
}
