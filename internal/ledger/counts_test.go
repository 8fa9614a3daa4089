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
	l       *Ledger
	pid     int
	page    []byte
	seen    collected
	meter   event.Meter
	missing event.MissingKind
}

// givePage attaches to a process, and gives it a page, for arrays or tensors.
func givePage(t *testing.T, blocks Counted) *countedPage {
	t.Helper()
	l := load(t, Options{})
	pid := sleeper(t)
	if _, err := l.Processes.AttachProcess(0, pid, 0); err != nil {
		t.Fatal(err)
	}
	p := &countedPage{l: l, pid: pid, meter: event.NumPy, missing: event.MissingNumPy}
	if blocks.Tensors {
		p.meter, p.missing = event.Torch, event.MissingTorch
	} else {
		if _, err := l.Blocks.Pages.Give(pid, blocks); !errors.Is(err, ErrNoPage) {
			t.Errorf("a page for a process that is counted by the probes on the interpreter: %v", err)
		}
		for _, by := range []Arrays{ArraysSettling, ArraysInside} {
			if _, _, err := l.Blocks.CountArrays(pid, by); err != nil {
				t.Fatal(err)
			}
		}
	}
	fd, err := l.Blocks.Pages.Give(pid, blocks)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	page, err := unix.Mmap(fd, 0, unix.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(page) })
	p.page = page
	return p
}

// bothKinds runs a test with pages for arrays and for tensors.
func bothKinds(t *testing.T, test func(t *testing.T, blocks Counted)) {
	t.Run("arrays", func(t *testing.T) { test(t, Counted{Handler: 1}) })
	t.Run("tensors", func(t *testing.T) { test(t, Counted{Tensors: true}) })
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
// the boundary before. A process gets one page for arrays, and one for tensors.
func TestCountedPage(t *testing.T) { bothKinds(t, testCountedPage) }

func testCountedPage(t *testing.T, blocks Counted) {
	blocks.Live = 1000
	p := givePage(t, blocks)
	for _, step := range []struct{ current, peak, value, high uint64 }{
		{1000, 1000, 1000, 1000}, {500, 8000, 500, 8000}, {500, 0, 500, 500}, {3000, 3000, 3000, 3000},
		{0, 0, 0, 3000}, {0, 4096, 0, 4096}, {0, 0, 0, 0},
	} {
		p.write(step.current, step.peak)
		b := p.look(t)
		if uint64(b.Value[p.meter]) != step.value || uint64(b.High[p.meter]) != step.high ||
			b.Missing[p.missing] != 0 {
			t.Errorf("%+v: %d, at most %d, missing %d", step, b.Value[p.meter], b.High[p.meter],
				b.Missing[p.missing])
		}
	}
	if _, err := p.l.Blocks.Pages.Give(p.pid, blocks); !errors.Is(err, ErrNoPage) {
		t.Errorf("a second page: %v", err)
	}
	if b := p.look(t); b.Value[event.NumPy]+b.Value[event.Torch] != b.Value[p.meter] {
		t.Errorf("another meter has moved: %d, %d", b.Value[event.NumPy], b.Value[event.Torch])
	}
	left := len(p.l.Blocks.Pages.unused)
	_, err := p.l.Blocks.Pages.Give(1, blocks)
	if !errors.Is(err, ErrNoProcess) || len(p.l.Blocks.Pages.unused) != left {
		t.Errorf("a page for a process that is not traced: %v", err)
	}
	p.l.Blocks.Pages.unused = nil
	if _, err := p.l.Blocks.Pages.Give(p.pid, blocks); !errors.Is(err, ErrNoPage) {
		t.Errorf("a page where none is left: %v", err)
	}
}

// TestNonsensePage: a page that says more than the process has mapped, or that blocks were lost, is not read again, and
// the error of the meter is unknown from then on. No other meter is touched.
func TestNonsensePage(t *testing.T) { bothKinds(t, testNonsensePage) }

func testNonsensePage(t *testing.T, blocks Counted) {
	for _, nonsense := range [][]uint64{
		{math.MaxUint64, 0}, {0, math.MaxUint64}, {1 << 62, 1 << 62}, {1 << 63, 0}, {1 << 47, 0}, {10, 10, 1},
		{0, 0, math.MaxUint64},
	} {
		p := givePage(t, blocks)
		p.write(100, 200)
		before := p.look(t)
		p.write(nonsense...)
		after := p.look(t)
		if after.Missing[p.missing] == 0 || after.Value[p.meter] != 0 || after.High[p.meter] != 100 {
			t.Errorf("%#x: %d, at most %d, missing %d", nonsense, after.Value[p.meter], after.High[p.meter],
				after.Missing[p.missing])
		}
		p.write(5, 5, 0)
		if b := p.look(t); b.Value[p.meter] != 0 || b.High[p.meter] != 0 {
			t.Errorf("%#x: it is read again", nonsense)
		}
		if before.Value[event.Mapped] != after.Value[event.Mapped] ||
			before.Value[event.Resident] != after.Value[event.Resident] {
			t.Errorf("%#x: other meters have moved", nonsense)
		}
	}
}

// TestScribbledPage: whatever a process writes, at any time, no value is below 0, and none above what it has mapped.
func TestScribbledPage(t *testing.T) { bothKinds(t, testScribbledPage) }

func testScribbledPage(t *testing.T, blocks Counted) {
	p := givePage(t, blocks)
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
		if v, high := b.Value[p.meter], b.High[p.meter]; v < 0 || high < v || uint64(high) > mapped {
			t.Errorf("%d, at most %d of %d mapped", v, high, mapped)
		}
		p.seen.boundaries = p.seen.boundaries[:0]
	}
	close(done)
	<-over
	p.write(math.MaxUint64)
	if b := p.look(t); b.Missing[p.missing] == 0 {
		t.Error("nonsense is believed")
	}
}
