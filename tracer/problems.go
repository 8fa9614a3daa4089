package tracer

import (
	"errors"
	"fmt"
	"slices"

	"ipytracer/event"
	"ipytracer/tracer/process"
)

// misses notes that something could not be probed or read, so that meters of a process have been short since then, or may be.
func (s *Session) misses(pid int, since event.Nanoseconds, meters []event.Meter, format string, args ...any) {
	s.problem(format, args...)
	s.missing++
	for _, m := range meters {
		one := event.Blind{PID: int32(pid), Meter: m, Since: since}
		known := func(b event.Blind) bool { return b.PID == one.PID && b.Meter == one.Meter }
		if i := slices.IndexFunc(s.blind, known); i >= 0 {
			s.blind[i].Since = min(s.blind[i].Since, since)
		} else {
			s.blind = append(s.blind, one)
		}
	}
}

// noteSilence says of a file that may be there, and is only looked for, that what it is on does not answer.
func (s *Session) noteSilence(err error) {
	if !errors.Is(err, process.ErrNoAnswer) || s.silence[err.Error()] || len(s.silence) > 100 {
		return
	}
	if s.silence == nil {
		s.silence = map[string]bool{}
	}
	s.silence[err.Error()] = true
	s.missing++
	s.problem("%s", clean(err.Error()))
}

// problem notes something the user must know. A target can make many; a hundred are enough to tell.
func (s *Session) problem(format string, args ...any) {
	if len(s.trouble) < 100 {
		s.trouble = append(s.trouble, fmt.Sprintf(format, args...))
	}
}
