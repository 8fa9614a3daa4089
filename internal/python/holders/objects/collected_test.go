package objects

import (
	"io"
	"testing"
	"time"

	"ipytracer/internal/python/holders/holderstest"
)

// TestCircleOfTheCollector: a list of the collector's that a target has tied into a circle ends, and soon.
func TestCircleOfTheCollector(t *testing.T) {
	f := holderstest.New(11)
	gc := f.Heap.Interpreter + uint64(f.Heap.InterpGC)
	const size = 1000
	entries := f.Alloc(16 * size)
	at := func(i int) uint64 { return entries + 16*uint64(i%size) }
	for i := range size {
		f.Put(at(i), at(i+1)) // never back to the head
		f.Put(at(i)+8, at(i+size-1))
	}
	f.Put(gc+32, at(0))
	f.Put(gc+32+8, at(5))
	f.Put(at(0)+8, gc+32) // the first leads back: it is taken for a list
	c := Collect(reading(t, f, f.Memory()))
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
	f := holderstest.New(11)
	gc := f.Heap.Interpreter + uint64(f.Heap.InterpGC)
	const size = 4000
	entries := f.Alloc(16*size + PageSize)
	entries += -entries % PageSize
	at := func(i int) uint64 { return entries + 16*uint64(i) }
	head := gc + 32
	link := func(from, to uint64) { f.Put(from, to); f.Put(to+gcPrevious, from) }
	link(head, at(0))
	for i := range size - 1 {
		link(at(i), at(i+1))
	}
	link(at(size-1), head)
	const last = PageSize/16 - 1 // of the first page
	from := &changing{ReaderAt: f.Memory(), at: at(last)}
	from.change = func() {
		for _, gone := range []int{last + 1, size - 1} {
			f.Put(at(gone), 0)
			f.Put(at(gone)+gcPrevious, 0)
		}
		link(at(last), at(last+2))
		link(at(size-2), head)
		from.ReaderAt = f.Memory()
	}
	c := Collect(reading(t, f, from))
	<-c.Done
	defer c.Region.Free()
	seen := map[uint64]bool{}
	for _, o := range c.Objects {
		seen[o-gcHead] = true
	}
	for i := range size {
		if gone := i == last+1 || i == size-1; !gone && !seen[at(i)] {
			t.Fatalf("%d of the list's %d objects were seen; the first that was not is number %d", len(seen), size, i)
		}
	}
}

// reading returns a reader of a made-up process that has some memory.
func reading(t *testing.T, f *holderstest.Python, from io.ReaderAt) Reader {
	t.Helper()
	var limits Limits
	limits.Defaults()
	mem := NewMemory(from, limits.Bytes)
	t.Cleanup(mem.Close)
	return NewReader(f.Heap, NewBudget(t.Context(), mem, limits))
}
