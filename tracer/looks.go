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
	"ipytracer/internal/host/process"
	"ipytracer/internal/python/holders/objects"
)

// Looks searches for variables, or for the holders of blocks, while the session runs. It reads the objects of a Python
// process from outside, and the process keeps running. Only one look runs at a time.
type Looks struct {
	log      *slog.Logger
	fs       process.FS
	ledger   *kernelHalf
	targets  *targets
	analyses *analyses
	cells    *cells
	end      *windup

	cancel context.CancelFunc
	done   chan func() []event.Event // nil while no look runs; the result is for the session's goroutine
	over   chan struct{}             // closed when the look no longer uses anything of the session
}

// FindVariables starts to list the variables of all Python processes, beside the session. They come as events, once the
// look is over. It reports whether it has started: only one look runs at a time.
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

// FindVariablesOf lists the variables of one process, as [Looks.FindVariables] does. They always come as one
// [event.Looked]. It contains the cost of the look, and which of the watched objects still exist.
func (l *Looks) FindVariablesOf(pid int, watch []event.Piece) bool {
	look := l.lookBeside(func(t *target) bool { return t.pid == pid })
	look.watch = watch
	return l.begins(look, func() func() []event.Event {
		began, used := time.Now(), objects.ProcessorTime()
		found := look.listVariables(look.surveys())
		out := look.looked(pid, began, used)
		look.tell(out, found)
		return func() []event.Event {
			withInputs(l.cells, found)
			return []event.Event{out}
		}
	})
}

// FindHoldersOf searches for the holders of these blocks of a process, and for idle workers among its children, as
// [Looks.FindVariablesOf] does. The blocks are in the order of their addresses. Where there are more than it takes, the
// smallest are left out. It may take a minute.
func (l *Looks) FindHoldersOf(pid int, blocks []event.Block) bool {
	look := l.lookBeside(func(t *target) bool { return t.pid == pid })
	look.asked, look.one = true, true
	for _, b := range blocks {
		look.live.add(liveKey{pid: int32(pid), address: b.Address}, b.Size)
	}
	return l.begins(look, func() func() []event.Event {
		began, used := time.Now(), objects.ProcessorTime()
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

// tell adds the variables that were found.
func (l *lastLook) tell(out *event.Looked, found []event.Event) {
	for _, e := range found {
		if v, ok := e.(*event.Variables); ok {
			out.Variables, out.Still = v, l.still
		}
	}
}

// looked returns the duration and cost of a look at one process, and its errors. used is the processor time of this
// thread at the start of the look.
func (l *lastLook) looked(pid int, began time.Time, used time.Duration) *event.Looked {
	out := &event.Looked{
		PID: int32(pid), Took: event.Nanoseconds(time.Since(began)),
		Cost: event.Nanoseconds(objects.ProcessorTime() - used), Why: strings.Join(l.report.trouble, "; "),
	}
	if len(l.targets) == 0 {
		out.Why = "it is no Python that can be looked into, or it has ended"
	}
	return out
}

// lookBeside returns a look at some Python processes that shares no state with the session, which goes on.
func (l *Looks) lookBeside(which func(*target) bool) *lastLook {
	look := &lastLook{
		fs: l.fs, log: l.log, report: &certificate{}, live: &live{},
		interpreters: &interpreters{fs: l.fs, analyses: l.analyses},
	}
	for _, t := range l.targets.all {
		if t.gone || t.python == nil || t.python.live == nil || !which(t) {
			continue
		}
		target, python, live := *t, *t.python, *t.python.live // copies, because the session goes on with its own
		target.python, python.live = &python, &live
		look.targets = append(look.targets, &target)
	}
	return look
}

// begins starts a look beside the session, unless another runs.
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
		runtime.LockOSThread() // the processor time is that of the thread
		defer runtime.UnlockOSThread()
		found := do()
		look.interpreters.known = nil
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
