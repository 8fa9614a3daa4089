package tracer

import (
	"errors"
	"time"

	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
	"ipytracer/tracer/internal/tracee"
)

// Follow starts a session without targets. It goes on until the context of [Session.Next] is done. Processes join it
// with [Session.Join], and an [event.Process] announces each. Once a target and its children have ended, their root
// number ([event.Boundary.Root]) is used again. The error is as for [Attach].
func Follow(o Options, arrivals Arrivals) (*Session, error) {
	o.arrivals = &arrivals
	return start(o, func(s *Session) error {
		s.fs.Helper.Share()
		if err := s.prepare(); err != nil {
			return err
		}
		return s.keepOnly()
	})
}

// Join asks a session of [Follow] to trace a running Python. [Session.Next] attaches to the process later. Join returns
// false if too many processes wait already, or the session is closed. Any goroutine may call Join.
func (s *Session) Join(id process.Identity) bool {
	j := &s.joining
	j.mu.Lock()
	defer j.mu.Unlock()
	isClosed := j.wake == nil
	if isClosed || len(j.waiting) >= maxJoining {
		return false
	}
	j.waiting = append(j.waiting, id)
	_ = j.wake()
	return true
}

// Leave makes the session stop tracing a root with all its processes, which live on. The session treats them as
// processes that ended with status 0, and calls [Arrivals.Released]. Any goroutine may call Leave.
func Leave(s *Session, root uint32) {
	j := &s.joining
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.wake != nil {
		j.leaving = append(j.leaving, root)
		_ = j.wake()
	}
}

// joinNext attaches to the process that has waited longest. It attaches to one only, because the rings must be read in
// between.
func (s *Session) joinNext() {
	if id, ok := s.joining.next(); ok {
		root, err := s.join(id)
		s.joining.Joined(id, root, err)
	}
}

// removeLeaving removes the roots that leave the session from the kernel half, which draws the boundaries of their
// ends.
func removeLeaving(s *Session) {
	for _, root := range s.joining.leavers() {
		for _, t := range s.targets.All {
			t.Leaves = t.Leaves || t.Root == root
		}
		leave(s, root)
	}
}

// leave removes the processes of a root from the kernel half, and reports whether there were any.
func leave(s *Session, root uint32) (hadProcesses bool) {
	err := s.ledger.Leave(root)
	if err != nil && !errors.Is(err, ledger.ErrNoProcess) {
		s.certificate.Problem("%v", err)
	}
	return err == nil
}

// join attaches to a process.
func (s *Session) join(id process.Identity) (root uint32, err error) {
	if s.targets.Find(id.PID) != nil {
		return 0, ErrFollowed
	}
	root, ok := s.targets.FreeRoot()
	if !ok {
		return 0, ErrNoRoom
	}
	t := &tracee.Target{PID: id.PID, Root: root}
	if t.Handle, err = s.fs.OpenIdentity(id); err != nil {
		return 0, err
	}
	s.targets.All = append(s.targets.All, t)
	defer func() {
		if err != nil {
			t.CloseProbes()
			s.targets.Drop(t)
			_, _ = s.ledger.Release(root)
		}
	}()
	if t.Python, err = s.probes.Interpreters.Open(t.PID); err != nil {
		return 0, err
	}
	if err := t.Lives(); err != nil { // the pid may already be another process's
		return 0, err
	}
	s.examiner.readAhead(t)
	return root, s.attach(root, t, true)
}

// releaseEnded releases the numbers of the roots whose processes have all ended a while ago.
func (s *Session) releaseEnded() {
	for _, t := range s.targets.All {
		if !t.IsRoot() || !t.Gone || time.Since(t.Ended) < restOfRoot {
			continue
		}
		if t.Leaves && leave(s, t.Root) { // a child was forked meanwhile: wait for its end, too
			t.Ended = time.Now()
		} else if s.targets.InTree(t.Root) == 1 && releaseOne(s, t) {
			return // the list has changed; the next call releases the others
		}
	}
}

// releaseOne forgets a root. done is false while the kernel half still has processes or boundaries of the root.
func releaseOne(s *Session, t *tracee.Target) (done bool) {
	done, err := s.ledger.Release(t.Root)
	if err != nil {
		s.certificate.Problem("%v", err)
	}
	if done {
		delete(s.budget.Roots, t.Root)
		s.watches.End(t.Root)
		s.targets.Drop(t)
		s.joining.Released(t.Root)
	}
	return done
}
