package holders

import (
	"context"
	"testing"

	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/walk"
)

// TestWalkReadsLittle: a survey's notes of arrays and of modules are not read again.
func TestWalkReadsLittle(t *testing.T) {
	const arrays = 300
	eachVersion(t, func(t *testing.T, f *fake) {
		const made = 0x7100_0000_0000
		var all []uint64
		for i := range uint64(arrays) { // each on a page of its own, with its axes on another one
			all = append(all, f.ownArray(made+i<<20, 1<<17, 1))
			f.Alloc(2 * objects.PageSize)
		}
		f.Program([]uint64{f.Str("all"), f.List(all...)},
			[]uint64{f.Str("kept"), f.List(f.ownArray(made-1<<30, 1<<20, 8))})
		s, err := newSurvey(context.Background(), f.Heap, f.Memory(), Process{}, objects.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		s.found.Mem.Forget()
		before := s.found.Mem.Total
		limits := s.limits()
		limits.Unseen = true
		r, err := s.findOnce(context.Background(), []objects.Block{{Address: f.Block, Size: 4096}}, limits)
		if err != nil || !r.Complete || len(r.Unseen) != arrays+1 {
			t.Fatalf("%d arrays, complete: %t, %v", len(r.Unseen), r.Complete, err)
		}
		walked := s.found.Mem.Total // describing them reads
		w := s.found.Walker(context.Background(), []objects.Block{{Address: f.Block, Size: 4096}}, limits)
		defer w.Free()
		s.found.Mem.Forget()
		found := walk.NewFinder(w)
		found.SeeksArrays = true
		w.VisitFor(found)
		w.Reserve(s.found.Notes.Containers)
		walk.Roots{Walker: w}.FollowAll(w.Modules(), true)
		walk.FindGarbage(w)
		if pages := (s.found.Mem.Total - walked) / objects.PageSize; len(found.Unseen) != arrays+1 || pages > arrays/4 {
			t.Errorf("%d pages were read to find %d arrays that had been noted (%d with their paths)", pages,
				len(found.Unseen), (walked-before)/objects.PageSize)
		}
	})
}
