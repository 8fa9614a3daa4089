package tracer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/event"
	"ipytracer/internal/code/elffile/elftest"
	"ipytracer/internal/ledger"
	"ipytracer/internal/words"
	"ipytracer/tracer/internal/running"
	"ipytracer/tracer/internal/tracee"
)

// following reads a session to its end, and calls before in front of each event.
func following(t *testing.T, ctx context.Context, s *Session,
	before func(told []string)) (told []string, last *event.Finish) {
	t.Helper()
	for {
		before(told)
		e, err := s.Next(ctx)
		if errors.Is(err, io.EOF) {
			return told, last
		}
		if err != nil {
			t.Fatal(err)
		}
		told = append(told, inWords(e))
		last, _ = e.(*event.Finish)
	}
}

func wantTold(t *testing.T, told []string, want ...string) {
	t.Helper()
	if !slices.Equal(told, want) {
		t.Errorf("told %q\nwant %q", told, want)
	}
}

func atOnce([]string) {}

// TestEventsInOrder: the kernel's records come out in their order, with the events that belong to a record beside it,
// Start first and Finish last.
func TestEventsInOrder(t *testing.T) {
	k := &fakeKernel{
		script: []records{
			together(change(1), change(2), drawn(1, event.CellOpen), reading(1), change(3)),
			together(source("x = 1"), drawn(2, event.CellClose), reading(2)),
			together(change(4), drawn(3, event.ProcessExit), reading(3)),
		},
		delivered: 4, lost: []event.Loss{{Reason: ledger.LostChanges, Count: 3}},
	}
	k.hits[ledger.GroupCell], k.hits[ledger.GroupSignal] = 7, 9
	s := attached(t, k, Options{Command: []string{"ipython"}})
	s.certificate.NoteUse(ledger.GroupCell, "Py_CompileStringObject+0")
	told, last := following(t, t.Context(), s, atOnce)
	wantTold(t, told, "start", "limits", "change 1", "change 2", "boundary 1", "reading 1", "change 3", "source x = 1",
		"boundary 2", "reading 2",
		"change 4", "boundary 3", "ending", "reading 3", "limits", "finish")
	if last.Reason != "the target ended" || last.Delivered != 4 || last.Made != 7 || !slices.Equal(last.Lost, k.lost) {
		t.Errorf("%+v", last)
	}
	if len(last.Probes) != 1 || last.Probes[0].Hits != 7 || last.Probes[0].Site != "Py_CompileStringObject+0" {
		t.Errorf("probes: %+v, %q", last.Probes, last.Problems)
	}
	if slices.ContainsFunc(k.calls, func(c string) bool { return strings.HasPrefix(c, "detach") }) {
		t.Errorf("asked for %q: it has ended", k.calls)
	}
}

// TestManyChanges: each event is its own, however many are queued at a time.
func TestManyChanges(t *testing.T) {
	const many = 3000
	var all []records
	for n := range uint64(many) {
		all = append(all, change(n))
	}
	s := attached(t, &fakeKernel{script: []records{together(all...), drawn(1, event.ProcessExit)}}, Options{})
	told, _ := following(t, t.Context(), s, atOnce)
	for n := range many {
		if want := fmt.Sprintf("change %d", n); told[n+2] != want {
			t.Fatalf("told %q, want %q", told[n+2], want)
		}
	}
}

// TestCellThatRan: a cell that ran at the attach comes with its text, after its boundary.
func TestCellThatRan(t *testing.T) {
	s := attached(t, &fakeKernel{script: []records{
		boundary(event.Boundary{Number: 1, Kind: event.CellOpen, Cell: 1, Late: true, Inputs: -1},
			ledger.BoundaryExtra{}), drawn(2, event.ProcessExit),
	}}, Options{})
	*s.code.Cells.Cell(1, 0) = running.OpenCell{File: "<ipython-input-3>", Told: true, Inputs: 4,
		Found: &event.CellSource{Cell: 1, Text: "y = 2"}}
	told, _ := following(t, t.Context(), s, atOnce)
	wantTold(t, told, "start", "limits", "boundary 1 <ipython-input-3>", "source y = 2", "boundary 2", "ending",
		"limits", "finish")
}

// TestEndOfASession: when a session is ended, the last boundary of each live target comes out, and the records before
// it and meanwhile; a waiting reader is woken.
func TestEndOfASession(t *testing.T) {
	k := &fakeKernel{script: []records{together(change(1), drawn(1, event.CellOpen))}}
	s := attached(t, k, Options{})
	ctx, stop := context.WithCancelCause(t.Context())
	k.idle = func() { stop(errors.New("enough")) } // wakes the reader that waits now
	told, last := following(t, ctx, s, func(told []string) {
		if len(told) == 4 { // nothing more will come
			k.asked = append(k.asked, change(2))
		}
	})
	wantTold(t, told, "start", "limits", "change 1", "boundary 1", "change 2", "boundary 90", "limits", "finish")
	if last.Reason != "enough" {
		t.Errorf("ended by %q", last.Reason)
	}
	pid := os.Getpid()
	if want := []string{fmt.Sprintf("attach %d", pid), fmt.Sprintf("detach %d", pid), "rest"}; !slices.Equal(k.calls,
		want) {
		t.Errorf("asked for %q, want %q", k.calls, want)
	}
	if e, err := s.Next(ctx); e != nil || !errors.Is(err, io.EOF) {
		t.Errorf("behind the end: %v, %v", e, err)
	}
}

// TestChangesUntilTheProbesAreOut: changes between the detach and the end of the search for holders come out after the
// last boundary.
func TestChangesUntilTheProbesAreOut(t *testing.T) {
	k := &fakeKernel{script: []records{change(1), change(2)}}
	s := attached(t, k, Options{})
	ctx, stop := context.WithCancel(t.Context())
	stop()
	told, _ := following(t, ctx, s, atOnce)
	wantTold(t, told, "start", "limits", "boundary 90", "change 1", "limits", "change 2", "finish")
}

// TestDetachFails: a target that has ended meanwhile does not count as a failed detach.
func TestDetachFails(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	s := attached(t, &fakeKernel{detaching: ledger.ErrNoProcess}, Options{})
	told, _ := following(t, ctx, s, atOnce)
	wantTold(t, told, "start", "limits", "limits", "finish")

	broken := errors.New("the map is broken")
	s = attached(t, &fakeKernel{detaching: broken}, Options{})
	for range 2 {
		if _, err := s.Next(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Next(ctx); !errors.Is(err, broken) {
		t.Errorf("%v, want %v", err, broken)
	}
}

// fakeInstrument records its calls among those of its kernel.
type fakeInstrument struct {
	tracee.Inert
	kernel  *fakeKernel
	refused error // the error of Resume
}

func (i *fakeInstrument) Pause(g ledger.Group) { i.kernel.note("down %v", g) }
func (i *fakeInstrument) Resume(g ledger.Group) error {
	i.kernel.note("up %v", g)
	return i.refused
}
func (i *fakeInstrument) Close() {}

// TestPausedGroupLosesItsProbes: a group that the kernel has paused loses its probes, and is put back once the account
// has filled: first the probes, then the boundary from which on they count.
func TestPausedGroupLosesItsProbes(t *testing.T) {
	const g = ledger.GroupTorch
	k := &fakeKernel{credit: ledger.Account{Credit: -time.Second, Full: time.Second}}
	i := &fakeInstrument{kernel: k, refused: errors.New("not now")}
	var s *Session
	k.script = []records{
		together(change(1), shed(g), shed(g)),
		func(sink ledger.Sink) {
			if !s.budget.IsPaused(0, g) || s.budget.IsPaused(0, ledger.GroupTorchCPU) {
				t.Error("it is not noted what is stepped down")
			}
			k.credit.Credit = time.Second
			change(2)(sink)
		},
		func(sink ledger.Sink) { i.refused = nil; change(3)(sink) },
		change(4),
		drawn(2, event.ProcessExit),
	}
	s = attached(t, k, Options{})
	only := s.targets.All[0]
	// Nothing more can be learned of it.
	only.Python = &tracee.Python{Learning: tracee.Learning{First: time.Now().Add(-time.Hour)}}
	only.Instruments = []tracee.Instrument{i}
	k.calls = nil
	told, _ := following(t, t.Context(), s, atOnce)
	totals := words.Group(event.TorchTotals)
	wantTold(t, told, "start", "limits", "change 1", "boundary 70 "+totals, "boundary 70 "+totals, "change 2",
		"change 3", "boundary 80 "+totals, "change 4", "boundary 2", "ending", "limits", "finish")
	name := g.String()
	if want := []string{"down " + name, "up " + name, "up " + name, "back " + name, "rest"}; !slices.Equal(k.calls,
		want) {
		t.Errorf("asked for %q, want %q", k.calls, want)
	}
	if s.budget.IsPaused(0, g) {
		t.Error("it counts as stepped down still")
	}
}

// TestLateLibrary: a library that is loaded while the session runs gets its probes as soon as the dynamic linker has
// reported it, and the end names it.
func TestLateLibrary(t *testing.T) {
	name := filepath.Join(t.TempDir(), "libcuda.so.1")
	code := []byte{0x55, 0x48, 0x89, 0xe5, 0x5d, 0xc3} // push %rbp …
	var file elftest.File
	for n, function := range []string{"cuMemAlloc_v2", "cuMemFree_v2"} {
		file.Symbols = append(file.Symbols, elftest.Symbol{Name: function, Addr: elftest.Text + uint64(16*n),
			Size: uint64(len(code)), Data: code, Function: true})
	}
	if err := os.WriteFile(name, file.Bytes(), 0o700); err != nil {
		t.Fatal(err)
	}
	k := &fakeKernel{}
	k.script = []records{
		change(1),
		func(sink ledger.Sink) {
			mapExecutable(t, name)
			sink.LibrariesChanged(int32(os.Getpid()))
			change(2)(sink)
		},
		func(sink ledger.Sink) {
			if !slices.Contains(k.calls, fmt.Sprintf("probe %d", os.Getpid())) || !slices.Contains(k.calls, "devices") {
				t.Errorf("asked for %q: the library has no probes", k.calls)
			}
			sink.LibrariesChanged(int32(os.Getpid())) // it is known
			drawn(1, event.ProcessExit)(sink)
		},
	}
	s := attached(t, k, Options{NoStacks: true})
	told, last := following(t, t.Context(), s, atOnce)
	wantTold(t, told, "start", "limits", "change 1", "change 2", "boundary 1", "ending", "limits", "finish")
	if want := fmt.Sprintf("%s in pid %d", name, os.Getpid()); !slices.Equal(last.Late, []string{want}) {
		t.Errorf("late: %q, want %q", last.Late, want)
	}
	if !slices.ContainsFunc(last.Probes, func(p event.ProbeUse) bool {
		return p.Probe == ledger.GroupDriver.String() && strings.Contains(p.Site, "libcuda.so.1")
	}) {
		t.Errorf("probes: %+v, %q", last.Probes, last.Problems)
	}
}

// mapExecutable makes this process map a file like a library.
func mapExecutable(t *testing.T, name string) {
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	mapped, err := unix.Mmap(int(f.Fd()), 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
	if errors.Is(err, unix.EPERM) {
		t.Skipf("%s is on a file system without programs", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(mapped) })
}

// TestGlancesDrawBoundaries: with glances, a boundary without an event is drawn now and then; without them, none is.
func TestGlancesDrawBoundaries(t *testing.T) {
	for _, every := range []time.Duration{0, time.Millisecond} {
		k := &fakeKernel{script: []records{change(1), change(2), change(3)}}
		s := attached(t, k, Options{Glances: every})
		ctx, stop := context.WithCancel(t.Context())
		told, _ := following(t, ctx, s, func(told []string) {
			if slices.Contains(told, "boundary 85") || every == 0 && len(told) >= 5 {
				stop()
			}
		})
		if slices.Contains(told, "boundary 85") != (every > 0) ||
			slices.Contains(k.calls, fmt.Sprintf("look %d", os.Getpid())) != (every > 0) {
			t.Errorf("every %v: %q, asked for %q", every, told, k.calls)
		}
		stop()
	}
}
