package tracer

import "ipytracer/event"

// Economize has a session stay below the limit on this program's memory, which is to be asked every few hundred events.
// Where the session comes near it, it gives up to find out who allocated, and gaveUp says so in a sentence, once:
// whoever keeps what it found out is to let that go. Where it comes near it again, it ends by itself ([EndedEarly]). It
// is for the goroutine that calls [Session.Next].
func Economize(s *Session) (gaveUp string) {
	a := &s.allowance
	a.refresh()
	switch {
	case a.meter == nil:
	case a.given == "" && a.isNear(1):
		a.given = a.says() + ": who allocated is not known; every figure stands"
		s.certificate.leavesUnnamed("%s", a.given)
		giveUpAttribution(s)
		return a.given
	case a.given != "" && s.end.stopped == "" && a.isNear(2):
		s.end.early = a.says() + ": the session has ended by itself"
		s.end.stopped = s.end.early
	}
	return ""
}

// giveUpAttribution lets go what the session knows of who allocates, and learns nothing more of it: the kernel half
// walks no stacks from now on.
func giveUpAttribution(s *Session) {
	s.options.NoStacks, s.options.Native, s.options.Holders = true, false, false
	for _, t := range s.targets.all {
		if t.gone || t.python == nil {
			continue
		}
		interpreter, err := t.python.live.Address()
		if err != nil {
			interpreter = 0 // as before it has started
		}
		if err := s.examiner.tellPython(t, interpreter); err != nil {
			s.log.Warn("stacks are walked on", "pid", t.pid, "error", err)
		}
	}
	s.Looks.stop()
	s.codes = codes{report: &s.certificate}
	s.natives.letGo(s.targets.all)
	s.live = live{}
	for _, e := range s.queue.rest() { // what nobody wants any more
		if stack, ok := e.(*event.Stack); ok && !s.natives.naming.holds(stack) {
			stack.Frames = nil
		}
	}
}
