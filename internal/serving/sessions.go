package serving

import (
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/process"
)

// start begins a session for a process.
func (s *Server) start(p Peer) answer {
	group, _ := process.FS{}.Proc(p.PID).MemoryGroup()
	_, group, _ = strings.Cut(group, ":")
	login := s.loginOf(p.UID, group)
	s.mu.Lock()
	defer s.mu.Unlock()
	if before := s.sessions[p.Identity]; before != nil {
		if before.stopping {
			return answer{Error: "the session before is ending; try again in a moment"}
		}
		return answer{OK: true, Runs: true, Report: before.child.Report}
	}
	if why := s.refuses(login); why != "" {
		return answer{Error: why}
	}
	child, err := s.options.Session(p)
	if err != nil {
		s.options.Log.Warn("a session could not be started", "pid", p.PID, "error", err)
		return answer{Error: "the session could not be started; the server's log says why"}
	}
	s.started[login] = append(s.started[login], time.Now())
	begun := &session{peer: p, login: login, child: child}
	s.sessions[p.Identity] = begun
	s.ended.Add(1)
	s.options.Log.Info("a session begins", "pid", p.PID, "uid", p.UID)
	go s.await(begun) // at most Options.InAll goroutines
	a := answer{OK: true, Last: s.last[p.Identity], Report: child.Report}
	delete(s.last, p.Identity)
	return a
}

// refuses says why a user may have no further session now; "" if the user may.
func (s *Server) refuses(login uint32) string {
	if s.closing {
		return "the server is ending"
	}
	recent := s.started[login][:0]
	for _, at := range s.started[login] {
		if time.Since(at) < startsEvery {
			recent = append(recent, at)
		}
	}
	if s.started[login] = recent; len(recent) == 0 {
		delete(s.started, login)
	}
	n := 0
	for _, running := range s.sessions {
		if running.login == login {
			n++
		}
	}
	switch {
	case n >= s.options.PerUser:
		return fmt.Sprintf("you have %d sessions already, as many as this server allows; "+
			"%%tracer stop in another notebook ends one", n)
	case len(s.sessions) >= s.options.InAll:
		return "the server has as many sessions as it may have"
	case len(recent) >= 2*s.options.PerUser:
		return "you have started so many sessions in the last minute that there are no more now"
	}
	return ""
}

// maxRemembered bounds the processes whose last session's end the server remembers.
const maxRemembered = 256

// await waits for the end of a session, and removes it.
func (s *Server) await(running *session) {
	defer s.ended.Done()
	<-running.child.Ended
	said := running.child.Said()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, running.peer.Identity)
	if said != "" && !running.stopping {
		if len(s.last) >= maxRemembered {
			clear(s.last)
		}
		s.last[running.peer.Identity] = said
	}
	s.options.Log.Info("a session is over", "pid", running.peer.PID, "said", said)
}

// stop ends the session of a process.
func (s *Server) stop(p Peer) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	running := s.sessions[p.Identity]
	if running == nil {
		return answer{Error: "this process has no session that this server has started", Last: s.last[p.Identity]}
	}
	s.finish(running)
	return answer{OK: true, Report: running.child.Report}
}

// The times that a session may take to end: when its notebook asks for the end (lastPatience), and when the server
// ends. A session that is killed loses its report.
const (
	lastPatience = time.Minute
	// hurryAfter is when an ending server tells its sessions to leave out their last look, which takes long.
	hurryAfter   = 700 * time.Millisecond
	endPatience  = 2 * time.Second
	killPatience = time.Second // for a session that was killed: Linux may hold it for longer
)

// finish sends a session the signal to end, and kills the session if it has not ended after lastPatience.
func (s *Server) finish(running *session) {
	if running.stopping {
		return
	}
	running.stopping = true
	for _, signal := range []unix.Signal{unix.SIGCONT, unix.SIGTERM} { // a user may have stopped the session's process
		if err := running.child.Signal(signal); err != nil {
			s.options.Log.Debug("a session could not be told to end", "pid", running.peer.PID, "error", err)
		}
	}
	go func() { // one goroutine for each session
		select {
		case <-running.child.Ended:
		case <-time.After(lastPatience):
			_ = running.child.Signal(unix.SIGKILL)
		}
	}()
}

// end ends all sessions. It kills those that have not ended after endPatience, and then waits only for killPatience.
func (s *Server) end() {
	s.mu.Lock()
	s.closing = true
	for _, running := range s.sessions {
		s.finish(running)
	}
	s.mu.Unlock()
	over := make(chan struct{})
	go func() { s.ended.Wait(); close(over) }() // one for each server
	hurry := time.AfterFunc(hurryAfter, func() { s.signal(unix.SIGINT) })
	defer hurry.Stop()
	select {
	case <-over:
		return
	case <-time.After(endPatience):
	}
	s.kill()
	select {
	case <-over:
	case <-time.After(killPatience):
		s.options.Log.Warn("a session that was killed has not ended yet")
	}
}

// signal sends a signal to all sessions that have not ended.
func (s *Server) signal(what unix.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, running := range s.sessions {
		_ = running.child.Signal(what)
	}
}

// kill kills all sessions that have not ended.
func (s *Server) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, running := range s.sessions {
		s.options.Log.Warn("a session does not end, and is killed", "pid", running.peer.PID)
		_ = running.child.Signal(unix.SIGKILL)
	}
}
