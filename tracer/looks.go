package tracer

import (
	"context"
	"log/slog"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"ipytracer/event"
	"ipytracer/tracer/host/process"
	"ipytracer/tracer/python/holders"
)

// Looks finds out what there is by name, or who holds what, while the session runs, beside it: the objects of a Python
// are read from outside, and the process goes on. One look is under way at a time.
type Looks struct {
	log      *slog.Logger
	fs       process.FS
	ledger   *kernelHalf
	targets  *targets
	analyses *analyses
	cells    *cells
	end      *windup

	cancel context.CancelFunc
	done   chan func() []event.Event // nil while nobody looks; what comes is for the session's goroutine
	over   chan struct{}             // closed when nothing of the session is used any more
}

// FindVariables has the variables of all Pythons looked for, beside the session: they come as events, at most a quarter
// of a minute later. It reports whether it has begun: while one look is under way no other begins.
func (l *Looks) FindVariables() bool {
	look := l.lookBeside(func(*target) bool { return true })
	return l.begins(look, func() func() []event.Event {
		found := look.listVariables(look.surveys())
		return func() []event.Event {
			for _, e := range found {
				if v, ok := e.(*event.Variables); ok {
					v.Early = true
				}
			}
			return withInputs(l.cells, found)
		}
	})
}

// FindVariablesOf has those of one process looked for, as [Looks.FindVariables] does. They come as an [event.Looked],
// in any case. It says what that took, and which of some objects are there still.
func (l *Looks) FindVariablesOf(pid int, watch []event.Piece) bool {
	look := l.lookBeside(func(t *target) bool { return t.pid == pid })
	look.watch = watch
	return l.begins(look, func() func() []event.Event {
		began, used := time.Now(), holders.ProcessorTime()
		found := look.listVariables(look.surveys())
		out := look.looked(pid, began, used)
		look.tell(out, found)
		return func() []event.Event {
			withInputs(l.cells, found)
			return []event.Event{out}
		}
	})
}

// FindHoldersOf has it found out who holds these blocks of a process, and which of its children are idle workers, as
// [Looks.FindVariablesOf] does. The blocks are in the order of their addresses, the smallest left out where there are
// more than that takes. It may take a minute.
func (l *Looks) FindHoldersOf(pid int, blocks []event.Block) bool {
	look := l.lookBeside(func(t *target) bool { return t.pid == pid })
	look.asked, look.one = true, true
	for _, b := range blocks {
		look.live.add(liveKey{pid: int32(pid), address: b.Address}, b.Size)
	}
	return l.begins(look, func() func() []event.Event {
		began, used := time.Now(), holders.ProcessorTime()
		all := look.surveys()
		others := look.besideThem(all)
		var found []event.Event
		var beside sync.WaitGroup
		beside.Go(func() { found = look.listVariables(all) })
		look.findHolders(others)
		beside.Wait()
		out := look.looked(pid, began, used)
		look.tell(out, found)
		return func() []event.Event {
			withInputs(l.cells, found)
			for _, e := range look.holders(l.cells) {
				if h, ok := e.(*event.Holders); ok {
					out.Holders = append(out.Holders, h)
				}
			}
			return []event.Event{out}
		}
	})
}

// tell adds what was found by name.
func (l *lastLook) tell(out *event.Looked, found []event.Event) {
	for _, e := range found {
		if v, ok := e.(*event.Variables); ok {
			out.Variables, out.Still = v, l.still
		}
	}
}

// looked says what a look at one process took, and what went wrong with it. used: the processor time of this thread as
// it began.
func (l *lastLook) looked(pid int, began time.Time, used time.Duration) *event.Looked {
	out := &event.Looked{
		PID: int32(pid), Took: event.Nanoseconds(time.Since(began)),
		Cost: event.Nanoseconds(holders.ProcessorTime() - used), Why: strings.Join(l.report.trouble, "; "),
	}
	if len(l.targets) == 0 {
		out.Why = "it is no Python that can be looked into, or it has ended"
	}
	return out
}

// lookBeside is a look at some Pythons while the session goes on: with all of its own.
func (l *Looks) lookBeside(which func(*target) bool) *lastLook {
	look := &lastLook{
		fs: l.fs, log: l.log, report: &certificate{}, live: &live{},
		interpreters: &interpreters{fs: l.fs, analyses: l.analyses},
	}
	for _, t := range l.targets.all {
		if t.gone || t.python == nil || t.python.live == nil || !which(t) {
			continue
		}
		target, python, live := *t, *t.python, *t.python.live // the session goes on with its own
		target.python, python.live = &python, &live
		look.targets = append(look.targets, &target)
	}
	return look
}

// begins has a look done beside the session, unless one is under way.
func (l *Looks) begins(look *lastLook, do func() func() []event.Event) bool {
	if l.done != nil || l.end.stopped != "" {
		return false
	}
	done, over := make(chan func() []event.Event, 1), make(chan struct{})
	l.done, l.over = done, over
	look.within, l.cancel = context.WithCancel(context.Background())
	kernel := l.ledger
	go func() {
		defer close(over)
		runtime.LockOSThread() // whose processor time is counted
		defer runtime.UnlockOSThread()
		found := do()
		look.interpreters.known = nil
		debug.FreeOSMemory()
		done <- found
		_ = kernel.Wake()
	}()
	return true
}

// FindsVariables reports whether a look is under way.
func (l *Looks) FindsVariables() bool { return l.done != nil }

// found are the events of a look that is over.
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

// stop ends a look that is under way: what it holds of processes is to be closed.
func (l *Looks) stop() {
	if l.done == nil {
		return
	}
	l.cancel()
	<-l.over
	l.done = nil
}
