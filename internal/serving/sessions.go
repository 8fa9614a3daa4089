package serving

import (
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/process"
)

// start begins a session of the process that asks.
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
	one := &session{peer: p, login: login, child: child}
	s.sessions[p.Identity] = one
	s.ended.Add(1)
	s.options.Log.Info("a session begins", "pid", p.PID, "uid", p.UID)
	go s.await(one) // one for each session: Options.InAll
	a := answer{OK: true, Last: s.last[p.Identity], Report: child.Report}
	delete(s.last, p.Identity)
	return a
}

// refuses returns the reason why a user may have no further session now, "" for none.
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
	for _, one := range s.sessions {
		if one.login == login {
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

// maxRemembered is the number of processes of which the server remembers how their last session ended.
const maxRemembered = 256

// await waits for a session's end.
func (s *Server) await(one *session) {
	defer s.ended.Done()
	<-one.child.Ended
	said := one.child.Said()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, one.peer.Identity)
	if said != "" && !one.stopping {
		if len(s.last) >= maxRemembered {
			clear(s.last)
		}
		s.last[one.peer.Identity] = said
	}
	s.options.Log.Info("a session is over", "pid", one.peer.PID, "said", said)
}

// stop ends the session of the process that asks.
func (s *Server) stop(p Peer) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.sessions[p.Identity]
	if one == nil {
		return answer{Error: "this process has no session that this server has started", Last: s.last[p.Identity]}
	}
	s.finish(one)
	return answer{OK: true, Report: one.child.Report}
}

// The time that a session may take to end: first when its notebook asks for the end, then when the server ends. The
// report of a session that is killed is lost.
const (
	lastPatience = time.Minute
	// when the server ends: the session then leaves out its last look, which takes long, and reports
	hurryAfter   = 700 * time.Millisecond
	endPatience  = 2 * time.Second
	killPatience = time.Second // the time that a killed session may take: the kernel may hold it for longer
)

// finish asks a session by a signal to end, and kills it if it has not ended after a while.
func (s *Server) finish(one *session) {
	if one.stopping {
		return
	}
	one.stopping = true
	for _, signal := range []unix.Signal{unix.SIGCONT, unix.SIGTERM} { // its user may have stopped it
		if err := one.child.Signal(signal); err != nil {
			s.options.Log.Debug("a session could not be told to end", "pid", one.peer.PID, "error", err)
		}
	}
	go func() { // one goroutine for each session
		select {
		case <-one.child.Ended:
		case <-time.After(lastPatience):
			_ = one.child.Signal(unix.SIGKILL)
		}
	}()
}

// end ends all sessions. It kills sessions that have not ended after a while, and does not wait long for those.
func (s *Server) end() {
	s.mu.Lock()
	s.closing = true
	for _, one := range s.sessions {
		s.finish(one)
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
	for _, one := range s.sessions {
		_ = one.child.Signal(what)
	}
}

// kill kills all sessions that have not ended.
func (s *Server) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.sessions {
		s.options.Log.Warn("a session does not end, and is killed", "pid", one.peer.PID)
		_ = one.child.Signal(unix.SIGKILL)
	}
}
