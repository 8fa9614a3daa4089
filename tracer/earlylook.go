package tracer

import (
	"context"
	"runtime/debug"

	"ipytracer/event"
)

// earlyLook finds out what there is by name while the session runs, beside it: the objects of a Python are read from outside, and the process goes on.
type earlyLook struct {
	cancel context.CancelFunc
	done   chan []event.Event // nil while nobody looks
	over   chan struct{}      // closed when nothing of the session is used any more
}

// FindVariables has the variables of all Pythons looked for, beside the session: they come as events, at most a quarter of a minute later.
// It says whether it has begun: while one is under way no other begins.
func (s *Session) FindVariables() bool {
	if s.early.done != nil || s.stopped != "" {
		return false
	}
	look := &lastLook{fs: s.fs, log: s.log, report: &certificate{}, interpreters: &s.interpreters, live: &live{}}
	for _, t := range s.targets {
		if t.gone || t.python == nil || t.python.live == nil {
			continue
		}
		target, python, live := *t, *t.python, *t.python.live // the session goes on with its own
		target.python, python.live = &python, &live
		look.targets = append(look.targets, &target)
	}
	done, over := make(chan []event.Event, 1), make(chan struct{})
	s.early.done, s.early.over = done, over
	look.within, s.early.cancel = context.WithCancel(context.Background())
	kernel := s.ledger
	go func() {
		defer close(over)
		found := look.listVariables(look.surveys())
		debug.FreeOSMemory()
		for _, e := range found {
			if v, ok := e.(*event.Variables); ok {
				v.Early = true
			}
		}
		done <- found
		_ = kernel.Wake()
	}()
	return true
}

// FindsVariables says whether they are being looked for.
func (s *Session) FindsVariables() bool { return s.early.done != nil }

// found are the events of a look that is over.
func (l *earlyLook) found() []event.Event {
	select {
	case all := <-l.done:
		l.cancel()
		l.done = nil
		return all
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
