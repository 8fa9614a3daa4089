package tracer

import (
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"ipytracer/event"
	"ipytracer/internal/code/elffile"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
	"ipytracer/tracer/internal/instruments"
	"ipytracer/tracer/internal/tracee"
)

// fakeCounter counts blocks as requested, unless instead is set.
type fakeCounter struct {
	asked   []ledger.Arrays
	instead ledger.Arrays
	foreign ledger.Foreign
	ended   error
	told    int // number of files with probes
	looked  int
}

func (c *fakeCounter) Foresee(_ *tracee.Target, files []ledger.File) error {
	c.told = len(files)
	return nil
}

func (c *fakeCounter) CountBy(_ *tracee.Target, by ledger.Arrays) (ledger.Arrays, ledger.Foreign, error) {
	c.asked = append(c.asked, by)
	if c.foreign != 0 {
		by = c.instead
	}
	return by, c.foreign, c.ended
}

func (c *fakeCounter) LookAgain(*tracee.Target) { c.looked++ }

func (c *fakeCounter) wantAsked(t *testing.T, want ...ledger.Arrays) {
	t.Helper()
	if !slices.Equal(c.asked, want) {
		t.Errorf("asked to count by %v, want %v", c.asked, want)
	}
	c.asked = nil
}

type noFile struct{ process.File }

func (noFile) Close() error { return nil }

// probedModule returns a NumPy that has its probes, and is mapped or is not yet.
func (h *fakeHost) probedModule(mapped bool) *instruments.ArrayModule {
	m := &instruments.ArrayModule{File: &process.MappedFile{File: noFile{}}, Probes: h.probe()}
	m.File.Mapping.File.Inode = 5
	if mapped {
		m.File.Mapping.End = 4096
	}
	return m
}

// tracking returns an instrument of a target without a NumPy yet, with the probes on PyTraceMalloc_Track in place.
func tracking(h *fakeHost, modules ...*instruments.ArrayModule) (*instruments.NumPyInstrument, *fakeCounter) {
	c := &fakeCounter{}
	return &instruments.NumPyInstrument{
		Host: h.host(), Target: &tracee.Target{PID: 7, Late: true, Python: &tracee.Python{}}, Counter: c,
		Ahead:   &instruments.ModulesAhead{},
		Log:     slog.New(slog.DiscardHandler),
		Tracked: h.probe(), Modules: modules,
	}, c
}

// TestNumPyTakesOver: probes in a NumPy that is not loaded yet serve at once; if no other NumPy can be loaded, the
// probes on the interpreter are taken out.
func TestNumPyTakesOver(t *testing.T) {
	h := &fakeHost{}
	i, c := tracking(h, h.probedModule(false))
	i.Unsure, i.Foreseen = true, true
	i.Settle()
	c.wantAsked(t, ledger.ArraysSettling)
	if i.Tracked == nil || h.taken != 0 || c.told != 1 || h.uses[ledger.GroupNumPy] == "" {
		t.Errorf("taken out %d, told of %d files, used %v: another NumPy may be loaded", h.taken, c.told, h.uses)
	}
	i.Unsure = false
	i.Listed(tracee.Listing{})
	c.wantAsked(t, ledger.ArraysInside)
	if i.Tracked != nil || h.taken != 1 || i.State != ledger.ArraysInside || !i.Due().IsZero() {
		t.Errorf("taken out %d, state %v", h.taken, i.State)
	}
	if err := i.Place(); err != nil || i.Tracked != nil {
		t.Errorf("%v: what serves alone needs no other probes", err)
	}
	i.Close()
	if h.taken != 2 {
		t.Errorf("%d taken out", h.taken)
	}
}

// TestNumPySettles: where NumPy was loaded before its probes, those on the interpreter stay for the threads between the
// two, and due says until when.
func TestNumPySettles(t *testing.T) {
	h := &fakeHost{}
	m := h.probedModule(false)
	i, c := tracking(h, m)
	i.Foreseen = true
	i.State, i.Settled = ledger.ArraysSettling, time.Now().Add(time.Hour)
	i.Settle()
	c.wantAsked(t)
	if at := i.Due(); at != i.Settled || i.Tracked == nil {
		t.Errorf("due %v, want %v", at, i.Settled)
	}
	i.Expected = []instruments.ExpectedModule{{File: m.File, Ahead: &instruments.ReadAhead{Done: make(chan struct{})}}}
	if at := i.Due(); at.IsZero() || time.Until(at) > tracee.BetweenLooks {
		t.Errorf("due %v: a file is being looked through", at)
	}
	i.Expected, i.Settled = nil, time.Now()
	i.Settle()
	c.wantAsked(t, ledger.ArraysInside)
	i.Close()
}

// TestNumPyForeign: where blocks would bypass the probes in NumPy, the interpreter's probes count them: until the other
// NumPy has probes, or for good.
func TestNumPyForeign(t *testing.T) {
	h := &fakeHost{}
	i, c := tracking(h, h.probedModule(false))
	c.foreign, c.instead = ledger.ForeignModule, ledger.ArraysTracked
	i.Settle()
	if i.State != ledger.ArraysTracked || i.Refused || !i.Target.Mappings.Stale || i.Tracked == nil || h.taken != 0 {
		t.Errorf("state %v, refused %v, taken out %d, look at what it maps: %v", i.State, i.Refused, h.taken,
			i.Target.Mappings.Stale)
	}
	c.foreign = ledger.ForeignHandler
	i.Settle()
	if !i.Refused || h.taken != 1 || !strings.Contains(h.uses[ledger.GroupNumPy], "NEP 49") {
		t.Errorf("refused %v, taken out %d, used %v", i.Refused, h.taken, h.uses)
	}
	c.asked = nil
	i.Settle()
	c.wantAsked(t)
	i.Close()
}

// TestNumPyPassedBy: once the kernel has seen blocks bypass the probes, it counts by the interpreter's probes again,
// and arrays that were not seen are searched for.
func TestNumPyPassedBy(t *testing.T) {
	for _, by := range []ledger.Foreign{ledger.ForeignModule, ledger.ForeignHandler} {
		h := &fakeHost{}
		i, c := tracking(h, h.probedModule(false))
		i.State = ledger.ArraysInside
		i.Unsure = true
		i.Pass(by)
		i.Leave()
		c.wantAsked(t, ledger.ArraysTracked)
		if c.looked != 1 || !i.Target.Mappings.Stale || i.Stranger || i.Refused != (by == ledger.ForeignHandler) ||
			i.Tracked == nil {
			t.Errorf("%v: looked %d times, refused %v", by, c.looked, i.Refused)
		}
		i.Leave()
		if i.Refused {
			c.wantAsked(t)
		}
		i.Close()
	}
	h := &fakeHost{shed: []ledger.Group{ledger.GroupNumPy}}
	i, c := tracking(h)
	i.Pass(ledger.ForeignModule)
	c.ended = errors.New("no such process")
	i.Leave()
	if c.looked != 0 || i.Target.Mappings.Stale {
		t.Error("of a process that has ended nothing is to be looked at")
	}
	i.Close()
}

// TestNumPySteps: all probes are taken out with the group, none take over meanwhile, and those in NumPy come back with
// the time to settle.
func TestNumPySteps(t *testing.T) {
	h := &fakeHost{}
	i, c := tracking(h, h.probedModule(true))
	i.State = ledger.ArraysSettling
	i.Pause(ledger.GroupCell)
	if h.taken != 0 {
		t.Error("another group's probes are none of its")
	}
	i.Pause(ledger.GroupNumPy)
	h.shed = []ledger.Group{ledger.GroupNumPy}
	i.Settle()
	c.wantAsked(t)
	if h.taken != 2 || i.Tracked != nil || len(h.placed) != 0 {
		t.Errorf("%d taken out, placed %v", h.taken, h.placed)
	}
	if err := i.Resume(ledger.GroupCell); err != nil || len(h.placed) != 0 {
		t.Errorf("%v, placed %v", err, h.placed)
	}
	if err := i.Resume(ledger.GroupNumPy); err != nil || len(h.placed) != 1 ||
		h.placed[0][len(h.placed[0])-1].Program != ledger.NumPyMade || !i.Settled.After(time.Now()) {
		t.Errorf("%v, placed %+v, settled %v", err, h.placed, i.Settled)
	}
	h.refused = io.ErrClosedPipe
	i.Pause(ledger.GroupNumPy)
	if err := i.Resume(ledger.GroupNumPy); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("%v", err)
	}
	i.Close()
}

// TestNumPyIsNotUnderstood: a file that cannot be probed leaves all blocks to the interpreter's probes, which is
// reported once; small blocks are theirs anyway.
func TestNumPyIsNotUnderstood(t *testing.T) {
	for _, small := range []bool{false, true} {
		h := &fakeHost{}
		i, c := tracking(h)
		i.Small = small
		m := h.hasNamed(t, "_multiarray_umath.cpython-311-"+elffile.Triplet+".so")
		for range 2 {
			i.Meet(tracee.Listing{}, m)
			i.Listed(tracee.Listing{})
		}
		c.wantAsked(t)
		if i.Refused == small || strings.Count(h.uses[ledger.GroupNumPy], "pid 7") > 1 ||
			(h.uses[ledger.GroupNumPy] == "") != small || (h.dear[ledger.GroupNumPy] == "") != small ||
			i.Tracked == nil || len(h.placed) > 0 {
			t.Errorf("small %v: refused %v, used %v, placed %v", small, i.Refused, h.uses, h.placed)
		}
		i.Close()
	}
	h := &fakeHost{}
	i, _ := tracking(h)
	i.Expected = []instruments.ExpectedModule{{File: &process.MappedFile{File: noFile{}},
		Ahead: &instruments.ReadAhead{Done: make(chan struct{}), Err: errors.New("unknown code")}}}
	close(i.Expected[0].Ahead.Done)
	if i.Settle(); !i.Unsure || len(i.Modules) > 0 || !i.Due().IsZero() {
		t.Errorf("unsure %v, %d modules, due %v", i.Unsure, len(i.Modules), i.Due())
	}
	var none []event.Meter
	if !slices.Equal(h.meters, none) {
		t.Errorf("%v are said to be missing: the interpreter's probes see them", h.meters)
	}
	i.Close()
}
