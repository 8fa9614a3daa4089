package holders

import (
	"context"
	"reflect"
	"testing"

	"ipytracer/internal/python/holders/objects"
)

// TestTwoSurveysAtOnce: two goroutines find the same with one survey at the same time as one after the other, also
// where one of them has to look anew, for a block without a holder.
func TestTwoSurveysAtOnce(t *testing.T) {
	eachVersion(t, func(t *testing.T, f *fake) {
		blocks := []objects.Block{{Address: f.Block, Size: 4096}, {Address: f.Block + 1<<20, Size: 4096}}
		ctx := context.Background()
		wantHolders, err := find(ctx, f.Heap, f.Memory(), blocks, objects.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		wantNames, err := list(ctx, f.Heap, f.Memory(), everything, objects.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := newSurvey(ctx, f.Heap, f.Memory(), Process{Mapped: everything}, objects.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		beside, found := s.Beside(), make(chan Result)
		go func() {
			r, err := beside.Find(ctx, blocks, objects.Limits{})
			beside.Close()
			if err != nil {
				t.Error(err)
			}
			found <- r
		}()
		names, err := s.List(ctx, objects.Limits{})
		s.Close()
		if err != nil || !reflect.DeepEqual(names.Names, wantNames.Names) {
			t.Errorf("%v: %+v, want %+v", err, names.Names, wantNames.Names)
		}
		if r := <-found; !reflect.DeepEqual(r.Holders, wantHolders.Holders) {
			t.Errorf("%+v, want %+v", r.Holders, wantHolders.Holders)
		}
		if s.found.Notes != nil || beside.found.Notes != nil {
			t.Error("the notes were kept")
		}
	})
}
