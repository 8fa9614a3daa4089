package tracer

import (
	"ipytracer/event"
	"ipytracer/tracer/internal/lastlook"
	"ipytracer/tracer/internal/running"
)

// Economize keeps a session below the limit on this program's memory. The caller must call it every few hundred events.
// When the session first comes near the limit, it gives up attribution. Then gaveUp is a sentence that says so, and the
// caller must drop its own attribution. When the session comes near the limit again, it ends by itself ([EndedEarly]).
// Only the goroutine that calls [Session.Next] may call Economize.
func Economize(s *Session) (gaveUp string) {
	a := &s.allowance
	a.refresh(false)
	switch {
	case a.meter == nil:
	case a.givenUp == "" && a.isNear(1):
		a.givenUp = a.reason() + ": who allocated is not known; every figure stands"
		s.certificate.LeavesUnnamed("%s", a.givenUp)
		giveUpAttribution(s)
		return a.givenUp
	case a.givenUp != "" && s.end.stopped == "" && a.isNear(2):
		s.end.early = a.reason() + ": the session has ended by itself"
		s.end.stopped = s.end.early
	}
	return ""
}

// giveUpAttribution drops the session's data about the code that allocates, and stops collecting it: the kernel half
// walks no stacks from now on.
func giveUpAttribution(s *Session) {
	s.options.NoStacks, s.options.Native, s.options.Holders = true, false, false
	for _, t := range s.targets.All {
		if t.Gone || t.Python == nil {
			continue
		}
		interpreter, err := t.Python.Live.Address()
		if err != nil {
			interpreter = 0 // as before it has started
		}
		if err := s.examiner.tellPython(t, interpreter); err != nil {
			s.log.Warn("stacks are walked on", "pid", t.PID, "error", err)
		}
	}
	s.Looks.stop()
	s.code.Codes = running.Codes{Report: &s.certificate}
	s.code.Natives.LetGo(s.targets.All)
	s.live = lastlook.Live{}
	for _, e := range s.queue.rest() { // these frames are not needed any more
		if stack, ok := e.(*event.Stack); ok && !s.code.Natives.Naming.Holds(stack) {
			stack.Frames = nil
		}
	}
}

// ForgetStacks makes a session that goes on for ever forget stacks and code: each stack is sent again when it is next
// met. If the session has only a few stacks, ForgetStacks does nothing and returns false, unless now is set. Only the
// goroutine that calls [Session.Next] may call it.
func ForgetStacks(s *Session, now bool) (forgot bool, err error) {
	if !now && s.code.Codes.AreFew() {
		return false, nil
	}
	if err := s.ledger.ForgetStacks(); err != nil {
		return false, err
	}
	s.code.Codes.Forget()
	return true, nil
}
