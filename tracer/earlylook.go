package tracer

import (
	"context"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"ipytracer/event"
	"ipytracer/tracer/python/holders"
)

// earlyLook finds out what there is by name, or who holds what, while the session runs, beside it: the objects of a Python are read from outside,
// and the process goes on.
type earlyLook struct {
	cancel context.CancelFunc
	done   chan func() []event.Event // nil while nobody looks; what comes is for the session's goroutine
	over   chan struct{}             // closed when nothing of the session is used any more
}

// FindVariables has the variables of all Pythons looked for, beside the session: they come as events, at most a quarter of a minute later.
// It says whether it has begun: while one look is under way no other begins.
func (s *Session) FindVariables() bool {
	look := s.lookBeside(func(*target) bool { return true })
	return s.begins(look, func() func() []event.Event {
		found := look.listVariables(look.surveys())
		return func() []event.Event {
			for _, e := range found {
				if v, ok := e.(*event.Variables); ok {
					v.Early = true
				}
			}
			return withInputs(&s.cells, found)
		}
	})
}

// FindVariablesOf has those of one process looked for, as [Session.FindVariables] does. They come as an [event.Looked], in any case, and say what
// that took, and which of some objects are there still.
func (s *Session) FindVariablesOf(pid int, watch []event.Piece) bool {
	look := s.lookBeside(func(t *target) bool { return t.pid == pid })
	look.watch = watch
	return s.begins(look, func() func() []event.Event {
		began, used := time.Now(), holders.ProcessorTime()
		found := look.listVariables(look.surveys())
		out := look.looked(pid, began, used)
		look.tell(out, found)
		return func() []event.Event {
			withInputs(&s.cells, found)
			return []event.Event{out}
		}
	})
}

// FindHoldersOf has it found out who holds these blocks of a process, and which of its children are idle workers, as [Session.FindVariablesOf] does. The
// blocks are in the order of their addresses, the smallest left out where there are more than that takes. It may take a minute.
func (s *Session) FindHoldersOf(pid int, blocks []event.Block) bool {
	look := s.lookBeside(func(t *target) bool { return t.pid == pid })
	look.asked, look.one = true, true
	for _, b := range blocks {
		look.live.add(liveKey{pid: int32(pid), address: b.Address}, b.Size)
	}
	return s.begins(look, func() func() []event.Event {
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
			withInputs(&s.cells, found)
			for _, e := range look.holders(&s.cells) {
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

// looked says what a look at one process took, and what went wrong with it. used: the processor time of this thread as it began.
func (l *lastLook) looked(pid int, began time.Time, used time.Duration) *event.Looked {
	out := &event.Looked{
		PID: int32(pid), Took: event.Nanoseconds(time.Since(began)), Cost: event.Nanoseconds(holders.ProcessorTime() - used), Why: strings.Join(l.report.trouble, "; "),
	}
	if len(l.targets) == 0 {
		out.Why = "it is no Python that can be looked into, or it has ended"
	}
	return out
}

// lookBeside is a look at some Pythons while the session goes on: with all of its own.
func (s *Session) lookBeside(which func(*target) bool) *lastLook {
	look := &lastLook{fs: s.fs, log: s.log, report: &certificate{}, interpreters: &interpreters{fs: s.fs, analyses: &s.analyses}, live: &live{}}
	for _, t := range s.targets {
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
func (s *Session) begins(look *lastLook, do func() func() []event.Event) bool {
	if s.early.done != nil || s.stopped != "" {
		return false
	}
	done, over := make(chan func() []event.Event, 1), make(chan struct{})
	s.early.done, s.early.over = done, over
	look.within, s.early.cancel = context.WithCancel(context.Background())
	kernel := s.ledger
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

// FindsVariables says whether a look is under way.
func (s *Session) FindsVariables() bool { return s.early.done != nil }

// found are the events of a look that is over.
func (l *earlyLook) found() []event.Event {
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
func (l *earlyLook) stop() {
	if l.done == nil {
		return
	}
	l.cancel()
	<-l.over
	l.done = nil
}
