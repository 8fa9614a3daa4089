package ledger

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"

	"ipytracer/event"
)

// countedPage is a page in which a process counts, as that process has it mapped.
type countedPage struct {
	l    *Ledger
	pid  int
	page []byte
	seen collected
}

// givePage attaches to a process, and gives it a page.
func givePage(t *testing.T, live uint64) *countedPage {
	t.Helper()
	l := load(t, Options{})
	pid := sleeper(t)
	if _, err := l.Processes.AttachProcess(0, pid, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Blocks.Pages.Give(pid, 1, 0); !errors.Is(err, ErrNoPage) {
		t.Errorf("a page for a process that is counted by the probes on the interpreter: %v", err)
	}
	for _, by := range []Arrays{ArraysSettling, ArraysInside} {
		if _, _, err := l.Blocks.CountArrays(pid, by); err != nil {
			t.Fatal(err)
		}
	}
	fd, err := l.Blocks.Pages.Give(pid, 1, live)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	page, err := unix.Mmap(fd, 0, unix.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(page) })
	return &countedPage{l: l, pid: pid, page: page}
}

// write writes the first counters: current, peak, lost.
func (p *countedPage) write(counters ...uint64) {
	for i, n := range counters {
		binary.NativeEndian.PutUint64(p.page[8*i:], n)
	}
}

// look draws a boundary, and returns it.
func (p *countedPage) look(t *testing.T) *event.Boundary {
	t.Helper()
	if err := p.l.Processes.Look(p.pid); err != nil {
		t.Fatal(err)
	}
	poll(t, p.l, &p.seen)
	return &p.seen.boundaries[len(p.seen.boundaries)-1]
}

// TestCountedPage: at each boundary the meter has what the page says, and its highest value is that of the page since
// the boundary before. A process gets one page.
func TestCountedPage(t *testing.T) {
	p := givePage(t, 1000)
	for _, step := range []struct{ current, peak, value, high uint64 }{
		{1000, 1000, 1000, 1000}, {500, 8000, 500, 8000}, {500, 0, 500, 500}, {3000, 3000, 3000, 3000},
		{0, 0, 0, 3000}, {0, 4096, 0, 4096}, {0, 0, 0, 0},
	} {
		p.write(step.current, step.peak)
		b := p.look(t)
		if uint64(b.Value[event.NumPy]) != step.value || uint64(b.High[event.NumPy]) != step.high ||
			b.Missing[event.MissingNumPy] != 0 {
			t.Errorf("%+v: %d, at most %d, missing %d", step, b.Value[event.NumPy], b.High[event.NumPy],
				b.Missing[event.MissingNumPy])
		}
	}
	if _, err := p.l.Blocks.Pages.Give(p.pid, 1, 0); !errors.Is(err, ErrNoPage) {
		t.Errorf("a second page: %v", err)
	}
	left := len(p.l.Blocks.Pages.unused)
	if _, err := p.l.Blocks.Pages.Give(1, 1, 0); !errors.Is(err, ErrNoProcess) || len(p.l.Blocks.Pages.unused) != left {
		t.Errorf("a page for a process that is not traced: %v", err)
	}
	p.l.Blocks.Pages.unused = nil
	if _, err := p.l.Blocks.Pages.Give(p.pid, 1, 0); !errors.Is(err, ErrNoPage) {
		t.Errorf("a page where none is left: %v", err)
	}
}

// TestNonsensePage: a page that says more than the process has mapped, or that blocks were lost, is not read again, and
// the error of the meter is unknown from then on. No other meter is touched.
func TestNonsensePage(t *testing.T) {
	for _, nonsense := range [][]uint64{
		{math.MaxUint64, 0}, {0, math.MaxUint64}, {1 << 62, 1 << 62}, {1 << 63, 0}, {1 << 47, 0}, {10, 10, 1},
		{0, 0, math.MaxUint64},
	} {
		p := givePage(t, 0)
		p.write(100, 200)
		before := p.look(t)
		p.write(nonsense...)
		after := p.look(t)
		if after.Missing[event.MissingNumPy] == 0 || after.Value[event.NumPy] != 0 || after.High[event.NumPy] != 100 {
			t.Errorf("%#x: %d, at most %d, missing %d", nonsense, after.Value[event.NumPy], after.High[event.NumPy],
				after.Missing[event.MissingNumPy])
		}
		p.write(5, 5, 0)
		if b := p.look(t); b.Value[event.NumPy] != 0 || b.High[event.NumPy] != 0 {
			t.Errorf("%#x: it is read again", nonsense)
		}
		if before.Value[event.Mapped] != after.Value[event.Mapped] ||
			before.Value[event.Resident] != after.Value[event.Resident] {
			t.Errorf("%#x: other meters have moved", nonsense)
		}
	}
}

// TestScribbledPage: whatever a process writes, at any time, no value is below 0, and none above what it has mapped.
func TestScribbledPage(t *testing.T) {
	p := givePage(t, 0)
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
		if v, high := b.Value[event.NumPy], b.High[event.NumPy]; v < 0 || high < v || uint64(high) > mapped {
			t.Errorf("%d, at most %d of %d mapped", v, high, mapped)
		}
		p.seen.boundaries = p.seen.boundaries[:0]
	}
	close(done)
	<-over
	p.write(math.MaxUint64)
	if b := p.look(t); b.Missing[event.MissingNumPy] == 0 {
		t.Error("nonsense is believed")
	}
}
