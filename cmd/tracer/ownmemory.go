package main

import (
	"errors"
	"fmt"

	"ipytracer/attribution"
	"ipytracer/internal/host/limit"
	"ipytracer/internal/words"
	"ipytracer/model"
	"ipytracer/tracer"
)

// thrift keeps a session below the limit on the tracer's own memory.
type thrift struct{ events int }

const thriftInterval = 1 << 8 // events

// pace is called at each event, and acts now and then. If the session gives up stacks, it forgets the known ones. An
// audit, which depends on them, keeps them.
func (t *thrift) pace(s *session) {
	if t.events++; t.events%thriftInterval != 0 && (s.running == nil || s.running.Pending()) || s.running == nil {
		return
	}
	why := tracer.Economize(s.running)
	if why == "" {
		return
	}
	s.findings = nil
	if s.answers != nil {
		s.answers.drop()
	}
	if tracker, ok := s.tracker.(*attribution.Tracker); ok {
		attribution.GiveUp(tracker, why)
	}
	limit.Collect()
	fmt.Fprintf(s.console.err, "tracer: %s\n", why)
}

// endedEarlyError says that a session has ended by itself, with its report.
type endedEarlyError string

func (e endedEarlyError) Error() string { return string(e) }

// endedEarly returns that error of a live session, nil for none.
func (s *session) endedEarly() error {
	if why := tracer.EndedEarly(s.running); why != "" {
		return endedEarlyError(why + "; what it has seen is in the report")
	}
	return nil
}

// noRoom explains that the tracer's memory limit is too low for a session; ok is false for other errors.
func noRoom(err error) (status int, message string, ok bool) {
	var small *limit.TooSmallError
	if !errors.As(err, &small) {
		return 0, "", false
	}
	b := &small.Bound
	return statusCannotTrace,
		fmt.Sprintf("the memory limit on the tracer itself is too low: %s is %s, of which %s are left, "+
			"and a session takes %s at least; raise it, or start the tracer outside of it",
			b.Name, words.Bytes(b.Bytes), words.Bytes(b.Room()), words.Bytes(small.Needs)), true
}

// ownMemory returns the tracer's memory and its limit.
func ownMemory(running *tracer.Session) *model.OwnMemory {
	f := tracer.Footprint(running)
	if f.Resident == 0 {
		return nil
	}
	own := &model.OwnMemory{Resident: f.Resident, Kernel: f.Kernel}
	if b := f.Bound; b != nil {
		own.Limit, own.LimitBy, own.Left = b.Bytes, b.Name, b.Room()
	}
	return own
}
