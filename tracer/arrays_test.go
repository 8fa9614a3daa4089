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

func (c *fakeCounter) foresee(_ *target, files []ledger.File) error { c.told = len(files); return nil }

func (c *fakeCounter) countBy(_ *target, by ledger.Arrays) (ledger.Arrays, ledger.Foreign, error) {
	c.asked = append(c.asked, by)
	if c.foreign != 0 {
		by = c.instead
	}
	return by, c.foreign, c.ended
}

func (c *fakeCounter) lookAgain(*target) { c.looked++ }

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
func (h *fakeHost) probedModule(mapped bool) *arrayModule {
	m := &arrayModule{file: &process.MappedFile{File: noFile{}}, probes: h.probe()}
	m.file.Mapping.File.Inode = 5
	if mapped {
		m.file.Mapping.End = 4096
	}
	return m
}

// tracking returns an instrument of a target without a NumPy yet, with the probes on PyTraceMalloc_Track in place.
func tracking(h *fakeHost, modules ...*arrayModule) (*numpyInstrument, *fakeCounter) {
	c := &fakeCounter{}
	return &numpyInstrument{
		host: h.host(), target: &target{pid: 7, late: true, python: &python{}}, counter: c, ahead: &modulesAhead{},
		log:     slog.New(slog.DiscardHandler),
		tracked: h.probe(), modules: modules,
	}, c
}

// TestNumPyTakesOver: probes in a NumPy that is not loaded yet serve at once; if no other NumPy can be loaded, the
// probes on the interpreter are taken out.
func TestNumPyTakesOver(t *testing.T) {
	h := &fakeHost{}
	i, c := tracking(h, h.probedModule(false))
	i.unsure, i.foreseen = true, true
	i.settle()
	c.wantAsked(t, ledger.ArraysSettling)
	if i.tracked == nil || h.taken != 0 || c.told != 1 || h.uses[ledger.GroupNumPy] == "" {
		t.Errorf("taken out %d, told of %d files, used %v: another NumPy may be loaded", h.taken, c.told, h.uses)
	}
	i.unsure = false
	i.listed(listing{})
	c.wantAsked(t, ledger.ArraysInside)
	if i.tracked != nil || h.taken != 1 || i.state != ledger.ArraysInside || !i.due().IsZero() {
		t.Errorf("taken out %d, state %v", h.taken, i.state)
	}
	if err := i.place(); err != nil || i.tracked != nil {
		t.Errorf("%v: what serves alone needs no other probes", err)
	}
	i.close()
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
	i.foreseen = true
	i.state, i.settled = ledger.ArraysSettling, time.Now().Add(time.Hour)
	i.settle()
	c.wantAsked(t)
	if at := i.due(); at != i.settled || i.tracked == nil {
		t.Errorf("due %v, want %v", at, i.settled)
	}
	i.expected = []expectedModule{{m.file, &readAhead{done: make(chan struct{})}}}
	if at := i.due(); at.IsZero() || time.Until(at) > betweenLooks {
		t.Errorf("due %v: a file is being looked through", at)
	}
	i.expected, i.settled = nil, time.Now()
	i.settle()
	c.wantAsked(t, ledger.ArraysInside)
	i.close()
}

// TestNumPyForeign: where blocks would bypass the probes in NumPy, the interpreter's probes count them: until the other
// NumPy has probes, or for good.
func TestNumPyForeign(t *testing.T) {
	h := &fakeHost{}
	i, c := tracking(h, h.probedModule(false))
	c.foreign, c.instead = ledger.ForeignModule, ledger.ArraysTracked
	i.settle()
	if i.state != ledger.ArraysTracked || i.refused || !i.target.unlisted || i.tracked == nil || h.taken != 0 {
		t.Errorf("state %v, refused %v, taken out %d, look at what it maps: %v", i.state, i.refused, h.taken,
			i.target.unlisted)
	}
	c.foreign = ledger.ForeignHandler
	i.settle()
	if !i.refused || h.taken != 1 || !strings.Contains(h.uses[ledger.GroupNumPy], "NEP 49") {
		t.Errorf("refused %v, taken out %d, used %v", i.refused, h.taken, h.uses)
	}
	c.asked = nil
	i.settle()
	c.wantAsked(t)
	i.close()
}

// TestNumPyPassedBy: once the kernel has seen blocks bypass the probes, it counts by the interpreter's probes again,
// and arrays that were not seen are searched for.
func TestNumPyPassedBy(t *testing.T) {
	for _, by := range []ledger.Foreign{ledger.ForeignModule, ledger.ForeignHandler} {
		h := &fakeHost{}
		i, c := tracking(h, h.probedModule(false))
		i.state = ledger.ArraysInside
		i.unsure = true
		i.pass(by)
		i.leave()
		c.wantAsked(t, ledger.ArraysTracked)
		if c.looked != 1 || !i.target.unlisted || i.stranger || i.refused != (by == ledger.ForeignHandler) ||
			i.tracked == nil {
			t.Errorf("%v: looked %d times, refused %v", by, c.looked, i.refused)
		}
		i.leave()
		if i.refused {
			c.wantAsked(t)
		}
		i.close()
	}
	h := &fakeHost{shed: []ledger.Group{ledger.GroupNumPy}}
	i, c := tracking(h)
	i.pass(ledger.ForeignModule)
	c.ended = errors.New("no such process")
	i.leave()
	if c.looked != 0 || i.target.unlisted {
		t.Error("of a process that has ended nothing is to be looked at")
	}
	i.close()
}

// TestNumPySteps: all probes are taken out with the group, none take over meanwhile, and those in NumPy come back with
// the time to settle.
func TestNumPySteps(t *testing.T) {
	h := &fakeHost{}
	i, c := tracking(h, h.probedModule(true))
	i.state = ledger.ArraysSettling
	i.stepDown(ledger.GroupCell)
	if h.taken != 0 {
		t.Error("another group's probes are none of its")
	}
	i.stepDown(ledger.GroupNumPy)
	h.shed = []ledger.Group{ledger.GroupNumPy}
	i.settle()
	c.wantAsked(t)
	if h.taken != 2 || i.tracked != nil || len(h.placed) != 0 {
		t.Errorf("%d taken out, placed %v", h.taken, h.placed)
	}
	if err := i.stepUp(ledger.GroupCell); err != nil || len(h.placed) != 0 {
		t.Errorf("%v, placed %v", err, h.placed)
	}
	if err := i.stepUp(ledger.GroupNumPy); err != nil || len(h.placed) != 1 ||
		h.placed[0][len(h.placed[0])-1].Program != ledger.NumPyMade || !i.settled.After(time.Now()) {
		t.Errorf("%v, placed %+v, settled %v", err, h.placed, i.settled)
	}
	h.refused = io.ErrClosedPipe
	i.stepDown(ledger.GroupNumPy)
	if err := i.stepUp(ledger.GroupNumPy); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("%v", err)
	}
	i.close()
}

// TestNumPyIsNotUnderstood: a file that cannot be probed leaves all blocks to the interpreter's probes, which is
// reported once; small blocks are theirs anyway.
func TestNumPyIsNotUnderstood(t *testing.T) {
	for _, small := range []bool{false, true} {
		h := &fakeHost{}
		i, c := tracking(h)
		i.small = small
		m := h.hasNamed(t, "_multiarray_umath.cpython-311-"+elffile.Triplet+".so")
		for range 2 {
			i.meet(listing{}, m)
			i.listed(listing{})
		}
		c.wantAsked(t)
		if i.refused == small || strings.Count(h.uses[ledger.GroupNumPy], "pid 7") > 1 ||
			(h.uses[ledger.GroupNumPy] == "") != small || (h.dear[ledger.GroupNumPy] == "") != small ||
			i.tracked == nil || len(h.placed) > 0 {
			t.Errorf("small %v: refused %v, used %v, placed %v", small, i.refused, h.uses, h.placed)
		}
		i.close()
	}
	h := &fakeHost{}
	i, _ := tracking(h)
	i.expected = []expectedModule{{&process.MappedFile{File: noFile{}},
		&readAhead{done: make(chan struct{}), err: errors.New("unknown code")}}}
	close(i.expected[0].ahead.done)
	if i.settle(); !i.unsure || len(i.modules) > 0 || !i.due().IsZero() {
		t.Errorf("unsure %v, %d modules, due %v", i.unsure, len(i.modules), i.due())
	}
	var none []event.Meter
	if !slices.Equal(h.meters, none) {
		t.Errorf("%v are said to be missing: the interpreter's probes see them", h.meters)
	}
	i.close()
}
