package tracer

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ipytracer/event"
	"ipytracer/internal/ledger"
	"ipytracer/internal/words"
	"ipytracer/tracer/internal/tracee"
)

// records are records that come out of the kernel together.
type records func(sink ledger.Sink)

// fakeKernel is a scripted kernel half: each Poll hands out the records requested since the last, like the boundary of
// a detach, and then the next records of the script.
type fakeKernel struct {
	script    []records
	asked     []records
	woken     chan struct{}
	calls     []string // the requests, in order
	forgotten int      // how often stacks were

	credit    ledger.Account
	detaching error // the error of Detach
	delivered uint64
	memory    int64
	hits      [ledger.GroupCount]uint64
	prices    [ledger.GroupCount]ledger.Costs
	lost      []event.Loss
	probes    atomic.Int64 // in place; several are taken out at a time
	closed    int
	holds     bool   // processes of a root that is to be released
	attaching func() // called by AttachProcess
	adopt     func(pid int) (uint32, error)
	idle      func() // called where nothing is left to hand out; then it waits until it is woken, whatever the time
}

func (k *fakeKernel) note(format string, args ...any) {
	k.calls = append(k.calls, fmt.Sprintf(format, args...))
}

func (k *fakeKernel) Poll(deadline time.Time, sink ledger.Sink) error {
	asked := k.asked
	k.asked = nil
	for _, r := range asked {
		r(sink)
	}
	if len(k.script) > 0 {
		next := k.script[0]
		k.script = k.script[1:]
		next(sink)
		return nil
	}
	if len(asked) == 0 {
		wait := time.Until(deadline)
		idle := k.idle != nil && wait > 0
		if idle {
			wait = time.Minute
			k.idle()
		}
		select {
		case <-k.woken:
		case <-time.After(wait):
			if idle {
				return errors.New("nobody woke it")
			}
		}
	}
	return nil
}

func (k *fakeKernel) Drain(sink ledger.Sink) error { return k.Poll(time.Unix(1, 0), sink) }

func (k *fakeKernel) Wake() error {
	select {
	case k.woken <- struct{}{}:
	default:
	}
	return nil
}

func (k *fakeKernel) Detach(pid int) error {
	k.note("detach %d", pid)
	if k.detaching == nil {
		k.asked = append(k.asked, boundary(event.Boundary{Number: 90, Kind: event.Detached, PID: int32(pid)},
			ledger.BoundaryExtra{}))
	}
	return k.detaching
}

func (k *fakeKernel) Leave(root uint32) error {
	k.note("leave %d", root)
	if !k.holds {
		return ledger.ErrNoProcess
	}
	k.holds = false
	return nil
}

func (k *fakeKernel) Release(root uint32) (bool, error) {
	k.note("release %d", root)
	return !k.holds, nil
}

func (k *fakeKernel) Look(pid int) error {
	k.note("look %d", pid)
	k.asked = append(k.asked, boundary(event.Boundary{Number: 85, Kind: event.Asked, PID: int32(pid)},
		ledger.BoundaryExtra{}))
	return nil
}

func (k *fakeKernel) Back(g ledger.Group, pid int) error {
	k.note("back %v", g)
	k.asked = append(k.asked, boundary(event.Boundary{Number: 80, Kind: event.MeterBack, PID: int32(pid)},
		ledger.BoundaryExtra{Group: g}))
	return nil
}

func (k *fakeKernel) Probe(_ ledger.File, pid int, placements []ledger.Placement) (io.Closer, error) {
	k.probes.Add(1)
	k.note("probe %d", pid)
	return closing(func() { k.probes.Add(-1) }), nil
}

func (k *fakeKernel) Rest() error { k.note("rest"); return nil }

func (k *fakeKernel) Close() error { k.closed++; return nil }

func (k *fakeKernel) Memory() int64                           { return k.memory }
func (k *fakeKernel) Delivered() uint64                       { return k.delivered }
func (k *fakeKernel) Received() uint64                        { return k.delivered }
func (k *fakeKernel) Hits() [ledger.GroupCount]uint64         { return k.hits }
func (k *fakeKernel) Losses() []event.Loss                    { return slices.Clone(k.lost) }
func (k *fakeKernel) Account(uint32) (ledger.Account, error)  { return k.credit, nil }
func (k *fakeKernel) Late(g ledger.Group, _ int) error        { k.note("late %v", g); return nil }
func (k *fakeKernel) SetDevices(uint32, ledger.Devices) error { k.note("devices"); return nil }
func (k *fakeKernel) AttachProcess(_ uint32, pid int, _ uint64) (uint32, error) {
	k.note("attach %d", pid)
	if k.attaching != nil {
		k.attaching()
	}
	return 0, nil
}

func (k *fakeKernel) Adopt(_ uint32, pid int, _ uint64, _ int) (uint32, error) {
	if k.adopt == nil {
		return 0, ledger.ErrNoProcess
	}
	return k.adopt(pid)
}

func (k *fakeKernel) Capabilities() ledger.Capabilities {
	return ledger.Capabilities{ExactResident: true}
}

// half returns this kernel half, with parts that these tests do not use.
func (k *fakeKernel) half() *tracee.KernelHalf {
	return &tracee.KernelHalf{Stream: k, Processes: k, CellNumbers: idleCells{}, Prober: k, Accounts: k,
		ArrayTable: idleArrays{}, CodeTable: idleRules{}, Object: k}
}

// The following methods do nothing of interest to these tests.

func (k *fakeKernel) Slot(int) (uint32, error)               { return 0, nil }
func (k *fakeKernel) SetPython(uint32, ledger.Python) error  { return nil }
func (k *fakeKernel) ForgetStacks() error                    { k.forgotten++; return nil }
func (k *fakeKernel) TryProbe() error                        { return nil }
func (k *fakeKernel) Calibrate() (ledger.Costs, error)       { return ledger.UsualCosts, nil }
func (k *fakeKernel) SetBudget(float64, time.Duration) error { return nil }

func (k *fakeKernel) SetPrice(g ledger.Group, price ledger.Costs, _ uint) error {
	k.prices[g] = price
	return nil
}

// idleCells are the cells of a process that runs none.
type idleCells struct{}

func (idleCells) CellsOpened() uint64                     { return 0 }
func (idleCells) OpenRunning(*ledger.RunningThread) error { return nil }
func (idleCells) EndRunning(*ledger.RunningThread) error  { return nil }

// idleArrays is an empty table of NumPy's blocks.
type idleArrays struct{}

func (idleArrays) ForeseeModules(uint32, []ledger.File) error               { return nil }
func (idleArrays) SettleArray(uint32, uint64, uint64, uint64) (bool, error) { return true, nil }
func (idleArrays) GivePage(int, ledger.Counted) (int, error)                { return -1, ledger.ErrNoPage }
func (idleArrays) CountHeap(int, bool) error                                { return nil }
func (idleArrays) Settled(int, int64) error                                 { return nil }
func (idleArrays) Arrays(uint32) ([]ledger.Array, ledger.ArrayMeters, error) {
	return nil, ledger.ArrayMeters{}, nil
}
func (idleArrays) CountArrays(_ int, by ledger.Arrays) (ledger.Arrays, ledger.Foreign, error) {
	return by, 0, nil
}

// idleRules accepts rules, and reports that no code changes.
type idleRules struct{}

func (idleRules) CodeChanges(uint32) (uint32, error)              { return 0, nil }
func (idleRules) CodeChecked(uint32, uint32) error                { return nil }
func (idleRules) CodeForgotten(uint32) error                      { return nil }
func (idleRules) SetRule(uint32, uint64, bool, ledger.Rule) error { return nil }
func (idleRules) DropRule(uint32, uint64, bool) error             { return nil }

// together hands several records out at once.
func together(all ...records) records {
	return func(sink ledger.Sink) {
		for _, r := range all {
			r(sink)
		}
	}
}

func boundary(b event.Boundary, extra ledger.BoundaryExtra) records {
	return func(sink ledger.Sink) { sink.Boundary(&b, extra) }
}

// drawn returns a boundary of this process, which is the target.
func drawn(number uint64, kind event.BoundaryKind) records {
	return boundary(event.Boundary{Number: number, Kind: kind, PID: int32(os.Getpid()), Cell: 1},
		ledger.BoundaryExtra{})
}

// change is only valid while it is handed over.
func change(stream uint64) records {
	return func(sink ledger.Sink) {
		c := event.Change{Stream: stream, Meter: event.Mapped}
		sink.Change(&c)
		c = event.Change{}
	}
}

func reading(number uint64) records {
	return func(sink ledger.Sink) { sink.Reading(&event.Reading{Number: number}) }
}

func source(text string) records {
	return func(sink ledger.Sink) {
		sink.Source(&ledger.SourceChunk{Cell: 1, PID: int32(os.Getpid()), Text: []byte(text + "\x00")})
	}
}

func shed(g ledger.Group) records {
	return boundary(event.Boundary{Number: 70, Kind: event.MeterShed, PID: int32(os.Getpid())},
		ledger.BoundaryExtra{Group: g})
}

// attached returns a session that is attached to this process, which it takes for no Python.
func attached(t *testing.T, k *fakeKernel, o Options) *Session {
	t.Helper()
	k.woken = make(chan struct{}, 1)
	percent := debug.SetGCPercent(100)
	s := newSession(o)
	t.Cleanup(func() {
		err := s.Close()
		if left := debug.SetGCPercent(percent); left != 100 {
			t.Errorf("%d %% of garbage may stand after the session, want 100", left)
		}
		if err != nil || k.closed != 1 || k.probes.Load() != 0 {
			t.Errorf("closed %d times, %d probes are left: %v", k.closed, k.probes.Load(), err)
		}
	})
	if err := errors.Join(s.targets.Hold(named(os.Getpid())), s.useKernelHalf(k.half()), s.attachAll()); err != nil {
		t.Fatal(err)
	}
	s.begin()
	return s
}

// named describes an event in a word or two.
func inWords(e event.Event) string {
	switch e := e.(type) {
	case *event.Change:
		return fmt.Sprintf("change %d", e.Stream)
	case *event.Boundary:
		text := ""
		if said := e.Text(); said != nil {
			text = *said
		}
		if e.Kind == event.MeterShed || e.Kind == event.MeterBack {
			text = words.Group(e.Group)
		}
		return strings.TrimRight(fmt.Sprintf("boundary %d %s", e.Number, text), " ")
	case *event.Reading:
		return fmt.Sprintf("reading %d", e.Number)
	case *event.CellSource:
		return "source " + e.Text
	}
	return strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", e), "*event."))
}
