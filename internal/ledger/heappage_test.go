package ledger

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"ipytracer/event"
)

// offerHeapPage attaches to a process with a page for malloc's blocks, and returns it as the process has it mapped.
func offerHeapPage(t *testing.T) *countedPage {
	t.Helper()
	page, err := NewHeapPage()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = page.Close() })
	l := load(t, Options{Heap: true, HeapPage: page})
	pid := sleeper(t)
	if _, err := l.Processes.AttachProcess(0, pid, 0); err != nil {
		t.Fatal(err)
	}
	if err := page.Offer(pid); err != nil {
		t.Fatal(err)
	}
	if err := l.Blocks.CountHeap(pid, true); err != nil {
		t.Fatal(err)
	}
	mapped, err := unix.Mmap(page.FD(), 0, unix.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(mapped) })
	state := mapped[unsafe.Offsetof(kernelCounts{}.Last):]
	if page.State() != HeapOffered || binary.LittleEndian.Uint32(state[4:]) != uint32(pid) {
		t.Errorf("the page is not offered: %v", page.State())
	}
	binary.LittleEndian.PutUint32(state, uint32(HeapCounted))
	if page.State() != HeapCounted {
		t.Errorf("the page is not counted in: %v", page.State())
	}
	return &countedPage{l: l, pid: pid, page: mapped}
}

// TestCountedHeap: at each boundary the meter has what the page says, and its highest value is that of the page since
// the boundary before. A process that does not count after all has a meter of 0.
func TestCountedHeap(t *testing.T) {
	p := offerHeapPage(t)
	look := func(value, high uint64) {
		t.Helper()
		b := p.look(t)
		if uint64(b.Value[event.Heap]) != value || uint64(b.High[event.Heap]) != high ||
			b.Missing[event.MissingHeap] != 0 || b.Value[event.NumPy] != 0 {
			t.Errorf("%d, at most %d, missing %d, want %d, at most %d", b.Value[event.Heap], b.High[event.Heap],
				b.Missing[event.MissingHeap], value, high)
		}
	}
	for _, step := range []struct{ current, peak, value, high uint64 }{
		{1000, 1000, 1000, 1000}, {500, 8000, 500, 8000}, {500, 0, 500, 500}, {3000, 3000, 3000, 3000},
		{0, 0, 0, 3000}, {0, 4096, 0, 4096}, {0, 0, 0, 0}, {700, 800, 700, 800},
	} {
		p.write(step.current, step.peak)
		look(step.value, step.high)
	}
	if err := p.l.Blocks.CountHeap(p.pid, false); err != nil {
		t.Fatal(err)
	}
	look(0, 0)
	p.write(900, 900)
	look(0, 0)
}

// TestNonsenseHeapPage: a page that says more than the process has mapped, or that blocks were lost, is not read again,
// and the error of the meter is unknown from then on. No other meter is touched.
func TestNonsenseHeapPage(t *testing.T) {
	for _, nonsense := range [][]uint64{
		{math.MaxUint64, 0}, {0, math.MaxUint64}, {1 << 63, 0}, {1 << 47, 0}, {10, 10, 1}, {0, 0, math.MaxUint64},
	} {
		p := offerHeapPage(t)
		p.write(100, 200)
		before := p.look(t)
		p.write(nonsense...)
		after := p.look(t)
		if after.Missing[event.MissingHeap] == 0 || after.Value[event.Heap] != 0 || after.High[event.Heap] != 100 {
			t.Errorf("%#x: %d, at most %d, missing %d", nonsense, after.Value[event.Heap], after.High[event.Heap],
				after.Missing[event.MissingHeap])
		}
		p.write(5, 5, 0)
		if b := p.look(t); b.Value[event.Heap] != 0 || b.High[event.Heap] != 0 {
			t.Errorf("%#x: it is read again", nonsense)
		}
		if before.Value[event.Mapped] != after.Value[event.Mapped] ||
			before.Missing[event.MissingNumPy] != after.Missing[event.MissingNumPy] {
			t.Errorf("%#x: other meters have moved", nonsense)
		}
	}
}

// TestScribbledHeapPage: whatever a process writes, at any time, no value is below 0, and none above what it has
// mapped.
func TestScribbledHeapPage(t *testing.T) {
	p := offerHeapPage(t)
	mapped := uint64(p.look(t).Value[event.Mapped])
	done, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		r := rand.New(rand.NewPCG(1, 2))
		for {
			select {
			case <-done:
				return
			default:
				p.write(r.Uint64N(mapped), r.Uint64N(mapped))
			}
		}
	}()
	for range 1000 {
		b := p.look(t)
		if v, high := b.Value[event.Heap], b.High[event.Heap]; v < 0 || high < v || uint64(high) > mapped {
			t.Errorf("%d, at most %d of %d mapped", v, high, mapped)
		}
		p.seen.boundaries = p.seen.boundaries[:0]
	}
	close(done)
	<-over
	p.write(math.MaxUint64)
	if b := p.look(t); b.Missing[event.MissingHeap] == 0 {
		t.Error("nonsense is believed")
	}
}
