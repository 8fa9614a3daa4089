package holders

import (
	"context"
	"io"
	"reflect"
	"testing"
	"time"

	"ipytracer/internal/python/holders/objects"
)

// TestTwoSurveysAtOnce: two goroutines find the same with one survey at the same time as one after the other, also
// where one of them has to look anew, for a block without a holder.
func TestTwoSurveysAtOnce(t *testing.T) {
	eachVersion(t, func(t *testing.T, f *fake) {
		blocks := []objects.Block{{Address: f.block, Size: 4096}, {Address: f.block + 1<<20, Size: 4096}}
		ctx := context.Background()
		wantHolders, err := find(ctx, f.h, f.memory(), blocks, objects.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		wantNames, err := list(ctx, f.h, f.memory(), everything, objects.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := newSurvey(ctx, f.h, f.memory(), Process{Mapped: everything}, objects.Limits{})
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
	var limits objects.Limits
	limits.Defaults()
	mem := objects.NewMemory(f.memory(), limits.Bytes)
	defer mem.Close()
	c := objects.Collect(objects.NewReader(f.h, objects.NewBudget(context.Background(), mem, limits)))
	select {
	case <-c.Done:
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
	defer c.Region.Free()
	if n := len(c.Objects); n < size || n > 8*size {
		t.Errorf("%d objects", n)
	}
	seen := map[uint64]bool{}
	for _, o := range c.Objects {
		seen[o] = true
	}
	if len(seen) < size-1 {
		t.Errorf("%d of %d were seen", len(seen), size)
	}
}

// changing is a memory that changes behind the first read of an address.
type changing struct {
	io.ReaderAt
	at     uint64
	change func()
}

func (c *changing) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, off)
	if c.change != nil && uint64(off) <= c.at && c.at < uint64(off)+uint64(len(p)) {
		c.change()
		c.change = nil
	}
	return n, err
}

// TestListChangesMeanwhile: an object in the middle of a list of the collector's is freed behind the read of the page
// that leads to it, and so is the last one, to which the head has led when it was read. All remaining objects are
// found.
func TestListChangesMeanwhile(t *testing.T) {
	f := newFake(11)
	gc := f.h.Interpreter + uint64(f.h.InterpGC)
	const size = 4000
	entries := f.alloc(16*size + objects.PageSize)
	entries += -entries % objects.PageSize
	at := func(i int) uint64 { return entries + 16*uint64(i) }
	head := gc + 32
	link := func(from, to uint64) { f.put(from, to); f.put(to+objects.GcPrevious, from) }
	link(head, at(0))
	for i := range size - 1 {
		link(at(i), at(i+1))
	}
	link(at(size-1), head)
	const last = objects.PageSize/16 - 1 // of the first page
	from := &changing{ReaderAt: f.memory(), at: at(last)}
	from.change = func() {
		for _, gone := range []int{last + 1, size - 1} {
			f.put(at(gone), 0)
			f.put(at(gone)+objects.GcPrevious, 0)
		}
		link(at(last), at(last+2))
		link(at(size-2), head)
		from.ReaderAt = f.memory()
	}
	var limits objects.Limits
	limits.Defaults()
	mem := objects.NewMemory(from, limits.Bytes)
	defer mem.Close()
	c := objects.Collect(objects.NewReader(f.h, objects.NewBudget(context.Background(), mem, limits)))
	<-c.Done
	defer c.Region.Free()
	seen := map[uint64]bool{}
	for _, o := range c.Objects {
		seen[o-objects.GcHead] = true
	}
	for i := range size {
		if gone := i == last+1 || i == size-1; !gone && !seen[at(i)] {
			t.Fatalf("%d of the list's %d objects were seen; the first that was not is number %d", len(seen), size, i)
		}
	}
}
