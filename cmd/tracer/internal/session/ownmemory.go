package session

import (
	"ipytracer/attribution"
	"ipytracer/internal/host/limit"
	"ipytracer/model"
	"ipytracer/tracer"
)

// thrift keeps a session below the limit on the tracer's own memory.
type thrift struct{ events int }

const thriftInterval = 1 << 8 // events

// pace is called at each event, and acts now and then. If the session gives up stacks, it forgets the known ones. An
// audit, which depends on them, keeps them.
func (t *thrift) pace(s *Session) {
	if t.events++; t.events%thriftInterval != 0 && (s.Running == nil || s.Running.Pending()) || s.Running == nil {
		return
	}
	why := tracer.Economize(s.Running)
	if why == "" {
		return
	}
	s.findings = nil
	if s.answers != nil {
		s.answers.drop()
	}
	if tracker, ok := s.Tracker.(*attribution.Tracker); ok {
		attribution.GiveUp(tracker, why)
	}
	limit.Collect()
	s.Console.Say("%s", why)
}

// endedEarlyError says that a session has ended by itself, with its report.
type endedEarlyError string

func (e endedEarlyError) Error() string { return string(e) }

// EndedEarly returns that error of a live session, nil for none.
func (s *Session) EndedEarly() error {
	if why := tracer.EndedEarly(s.Running); why != "" {
		return endedEarlyError(why + "; what it has seen is in the report")
	}
	return nil
}

// OwnMemory returns the tracer's memory and its limit.
func OwnMemory(running *tracer.Session) *model.OwnMemory {
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
