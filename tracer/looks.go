package tracer

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"ipytracer/event"
	"ipytracer/internal/ledger"
	"ipytracer/internal/python/holders/objects"
	"ipytracer/tracer/internal/instruments"
	"ipytracer/tracer/internal/lastlook"
	"ipytracer/tracer/internal/tracee"
)

// Looks searches for variables, or for the holders of blocks, while the session runs. It reads the objects of a Python
// process from outside, and the process keeps running. Only one look runs at a time.
type Looks struct {
	*trace
	glances glances

	cancel context.CancelFunc
	done   chan func() []event.Event // nil while no look runs; the result is for the session's goroutine
	over   chan struct{}             // closed when the look no longer uses anything of the session
}

// FindVariables starts to list the variables of all Python processes, beside the session. They come as events when the
// look is over. FindVariables returns false if another look is running.
func (l *Looks) FindVariables() bool {
	look := l.lookBeside(func(*tracee.Target) bool { return true })
	return l.start(look, func() func() []event.Event {
		found := look.ListVariables(look.Surveys())
		return func() []event.Event {
			for _, e := range found {
				if v, ok := e.(*event.Variables); ok {
					v.Early = true
				}
			}
			return lastlook.WithInputs(&l.code.Cells, found)
		}
	})
}

// FindVariablesOf starts to list the variables of one process, as [Looks.FindVariables] does. The result always comes
// as one [event.Looked], with the cost of the look, and with which of the watched objects still exist.
func (l *Looks) FindVariablesOf(pid int, watch []event.Piece) bool {
	look := l.lookBeside(func(t *tracee.Target) bool { return t.PID == pid })
	look.Watch = watch
	return l.startOf(pid, look)
}

// FindHoldersOf starts to search for the holders of blocks of a process, and for idle workers among its children, as
// [Looks.FindVariablesOf] does. The blocks must be in the order of their addresses. If there are too many, the smallest
// are left out. The search may take a minute.
func (l *Looks) FindHoldersOf(pid int, blocks []event.Block) bool {
	look := l.lookBeside(func(t *tracee.Target) bool { return t.PID == pid })
	look.Asked, look.One = true, true
	for _, b := range blocks {
		look.Live.Add(lastlook.LiveKey{PID: int32(pid), Address: b.Address}, b.Size)
	}
	return l.startOf(pid, look)
}

// startOf starts a look at one process, for its variables and, if they are asked for, for holders.
func (l *Looks) startOf(pid int, look *lastlook.Look) bool {
	return l.start(look, func() func() []event.Event {
		began, used := time.Now(), objects.ProcessorTime()
		surveys := look.Surveys()
		var found []event.Event
		if look.Asked {
			others := look.ForHolders(surveys)
			var beside sync.WaitGroup
			beside.Go(func() { found = look.ListVariables(surveys) })
			look.FindHolders(others)
			beside.Wait()
		} else {
			found = look.ListVariables(surveys)
		}
		out := lookedAt(look, pid, began, used)
		addVariables(out, look, found)
		return func() []event.Event {
			lastlook.WithInputs(&l.code.Cells, found)
			for _, e := range look.Holders(&l.code.Cells) {
				if h, ok := e.(*event.Holders); ok {
					out.Holders = append(out.Holders, h)
				}
			}
			return []event.Event{out}
		}
	})
}

// addVariables adds the variables that a look has found.
func addVariables(out *event.Looked, l *lastlook.Look, found []event.Event) {
	for _, e := range found {
		if v, ok := e.(*event.Variables); ok {
			out.Variables, out.Still = v, l.Still
		}
	}
}

// lookedAt returns the result of a look at one process, with its duration, cost and errors. used is the processor time
// of this thread at the start of the look.
func lookedAt(l *lastlook.Look, pid int, began time.Time, used time.Duration) *event.Looked {
	out := &event.Looked{
		PID: int32(pid), Took: event.Nanoseconds(time.Since(began)),
		Cost: event.Nanoseconds(objects.ProcessorTime() - used), Why: strings.Join(l.Report.Trouble, "; "),
	}
	if len(l.Targets) == 0 {
		out.Why = "it is no Python that can be looked into, or it has ended"
	}
	return out
}

// lookBeside returns a look at some Python processes that shares no state with the session, which goes on.
func (l *Looks) lookBeside(selects func(*tracee.Target) bool) *lastlook.Look {
	look := &lastlook.Look{
		FS: l.fs, Log: l.log, Report: &tracee.Certificate{}, Live: &lastlook.Live{},
		Interpreters: &instruments.Interpreters{FS: l.fs, Analyses: &l.probes.Analyses},
	}
	for _, t := range l.targets.All {
		if t.Gone || t.Python == nil || t.Python.Live == nil || !selects(t) {
			continue
		}
		target, python, live := *t, *t.Python, *t.Python.Live // copies, because the session goes on with its own
		target.Python, python.Live = &python, &live
		look.Targets = append(look.Targets, &target)
	}
	return look
}

// start starts a look beside the session, unless another runs.
func (l *Looks) start(look *lastlook.Look, do func() func() []event.Event) bool {
	if l.done != nil || l.end.stopped != "" {
		return false
	}
	done, over := make(chan func() []event.Event, 1), make(chan struct{})
	l.done, l.over = done, over
	look.Within, l.cancel = context.WithCancel(context.Background())
	kernel := l.ledger
	go func() {
		defer close(over)
		runtime.LockOSThread() // the processor time is that of the thread
		defer runtime.UnlockOSThread()
		found := do()
		look.Interpreters.Known = nil
		debug.FreeOSMemory()
		done <- found
		_ = kernel.Wake()
	}()
	return true
}

// FindsVariables reports whether a look is running.
func (l *Looks) FindsVariables() bool { return l.done != nil }

// found returns the events of a look that has finished.
func (l *Looks) found() []event.Event {
	select {
	case found := <-l.done:
		l.cancel()
		l.done = nil
		return found()
	default:
		return nil
	}
}

// stop ends a look that is running, so that everything it holds of processes is closed.
func (l *Looks) stop() {
	if l.done == nil {
		return
	}
	l.cancel()
	<-l.over
	l.done = nil
}

// glances draws boundaries at which nothing happens, so that a viewer of the running session sees current figures of
// open windows.
type glances struct {
	every time.Duration // 0: never
	last  time.Time     // when the last glance was drawn
	cost  time.Duration // of drawing it
}

// glanceShare is the reciprocal of the share of time that drawing glances may take: for each, the kernel goes through
// all tasks of the machine.
const glanceShare = 100

// due returns when the next glance is to be drawn.
func (g *glances) due() time.Time {
	return g.last.Add(max(g.every, glanceShare*g.cost))
}

// draw draws a glance for each running target, if it is time.
func (g *glances) draw(kernel tracee.Processes, targets []*tracee.Target) error {
	if g.every <= 0 || time.Now().Before(g.due()) {
		return nil
	}
	g.last = time.Now()
	for _, t := range targets {
		if !t.IsRoot() || t.Gone {
			continue
		}
		if err := kernel.Look(t.PID); err != nil && !errors.Is(err, ledger.ErrNoProcess) &&
			!errors.Is(err, ledger.ErrFull) {
			return err
		}
	}
	g.cost = time.Since(g.last)
	return nil
}
