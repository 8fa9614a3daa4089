package holders

import (
	"context"
	"reflect"
	"testing"
	"time"
)

// TestBeside: what two goroutines find out of one survey at the same time is what they find one after the other, also where one of them
// has to look anew, for a block that nobody holds.
func TestBeside(t *testing.T) {
	eachVersion(t, func(t *testing.T, f *fake) {
		blocks := []Block{{f.block, 4096}, {f.block + 1<<20, 4096}}
		ctx := context.Background()
		wantHolders, err := find(ctx, f.h, f.memory(), blocks, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		wantNames, err := list(ctx, f.h, f.memory(), everything, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := newSurvey(ctx, f.h, f.memory(), Process{Mapped: everything}, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		beside, found := s.Beside(), make(chan Result)
		go func() {
			r, err := beside.Find(ctx, blocks, Limits{})
			beside.Close()
			if err != nil {
				t.Error(err)
			}
			found <- r
		}()
		names, err := s.List(ctx, Limits{})
		s.Close()
		if err != nil || !reflect.DeepEqual(names.Names, wantNames.Names) {
			t.Errorf("%v: %+v, want %+v", err, names.Names, wantNames.Names)
		}
		if r := <-found; !reflect.DeepEqual(r.Holders, wantHolders.Holders) {
			t.Errorf("%+v, want %+v", r.Holders, wantHolders.Holders)
		}
		if s.notes != nil || beside.notes != nil {
			t.Error("the notes were kept")
		}
	})
}

// TestCircleOfTheCollector: a list of the collector's that a target has tied into a circle ends, and soon.
func TestCircleOfTheCollector(t *testing.T) {
	f := newFake(11)
	gc := f.h.Interpreter + uint64(f.h.InterpGC)
	const size = 1000
	entries := f.alloc(16 * size)
	at := func(i int) uint64 { return entries + 16*uint64(i%size) }
	for i := range size {
		f.put(at(i), at(i+1)) // never back to the head
		f.put(at(i)+8, at(i+size-1))
	}
	f.put(gc+32, at(0))
	f.put(gc+32+8, at(5))
	f.put(at(0)+8, gc+32) // the first leads back: it is taken for a list
	var limits Limits
	limits.defaults()
	mem := newMemory(f.memory(), limits.Bytes)
	defer mem.close()
	w := newWalker(context.Background(), f.h, mem, nil, limits)
	c := w.collect()
	select {
	case <-c.done:
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
	defer c.region.free()
	if n := len(c.objects); n < size || n > 8*size {
		t.Errorf("%d objects", n)
	}
	seen := map[uint64]bool{}
	for _, o := range c.objects {
		seen[o] = true
	}
	if len(seen) < size-1 {
		t.Errorf("%d of %d were seen", len(seen), size)
	}
}
