// Package serving starts sessions for kernels that ask for one on a Unix socket: each is of the process that asks, and of no other, and
// has that user's rights. Who asks, and how often, is decided here; what a session is, and what a notebook is told, is not.
//
// Nothing of a request is used but which of two words it is. Whose process it is the Linux kernel says (SO_PEERCRED, SO_PEERPIDFD), not
// the request: so there is no pid, path or flag that could be another's.
package serving

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/tracer/process"
)

// Protocol is what is spoken on the socket: one request of at most 256 bytes, one answer of at most 4,096, then the server closes.
const Protocol = "ipytracer/serve/v1"

// Bounds of what a peer can take.
const (
	maxRequest  = 256             // bytes
	patience    = 2 * time.Second // that a connection may take in all
	maxAtOnce   = 64              // connections that are being answered
	maxOfUser   = 8               // of these, of one user
	startsEvery = time.Minute     // a user may start twice as many sessions as may run, in this time
)

// Options are what a server may do.
type Options struct {
	Log     *slog.Logger
	PerUser int // sessions of one user at a time
	InAll   int // of all users
	// Session is the command that traces a process until it is told to end (SIGTERM), as a user who has typed sudo, or as root.
	Session func(Peer) (*Child, error)
}

// Child is a session under way.
type Child struct {
	Signal func(unix.Signal) error
	// Ended is closed when it has ended; Said is then what it said last, "" where all was well.
	Ended <-chan struct{}
	Said  func() string
}

// Server answers.
type Server struct {
	options Options

	mu       sync.Mutex
	sessions map[process.Identity]*session
	answered map[uint32]int         // connections that are being answered, by user
	started  map[uint32][]time.Time // by user, in the last while
	last     map[process.Identity]string
	closing  bool
	ended    sync.WaitGroup
}

type session struct {
	peer     Peer
	child    *Child
	stopping bool
}

// New makes one.
func New(o Options) *Server {
	return &Server{
		options: o, sessions: map[process.Identity]*session{}, answered: map[uint32]int{}, started: map[uint32][]time.Time{},
		last: map[process.Identity]string{},
	}
}

// request is what a notebook asks.
type request struct {
	Ask string `json:"ask"` // "start" or "stop"
}

// answer is what it is told.
type answer struct {
	Serve string `json:"serve"`
	// OK: a session begins, runs already, or ends. Else Error says in a sentence why not.
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
	Runs  bool   `json:"runs,omitempty"` // it did before
	Last  string `json:"last,omitempty"` // how the last session of this process ended, if not well
}

// Serve answers on a socket that listens, until the context ends; then it ends all sessions and waits for them.
func (s *Server) Serve(ctx context.Context, l *Listener) error {
	stop := context.AfterFunc(ctx, l.wake)
	defer stop()
	defer s.end()
	slots := make(chan struct{}, maxAtOnce)
	for {
		conn, err := l.accept()
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE), errors.Is(err, unix.ENOBUFS), errors.Is(err, unix.ENOMEM):
			s.options.Log.Warn("a connection could not be taken", "error", err)
			time.Sleep(100 * time.Millisecond) // it is there still
			continue
		case err != nil:
			return fmt.Errorf("accept: %w", err)
		}
		select {
		case slots <- struct{}{}:
		default:
			conn.Close()
			continue
		}
		uid, ok := s.admit(conn)
		if !ok {
			conn.Close()
			<-slots
			continue
		}
		go func() {
			// What a user occupies is given up when the connection is closed, and not before: closing may take long.
			defer func() { conn.Close(); s.dismiss(uid); <-slots }()
			s.converse(conn)
		}()
	}
}

// admit says whether a connection's user has room for one more.
func (s *Server) admit(conn *os.File) (uid uint32, ok bool) {
	cred, err := credentials(conn)
	if err != nil {
		return 0, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answered[cred.Uid] >= maxOfUser {
		return 0, false
	}
	s.answered[cred.Uid]++
	return cred.Uid, true
}

func (s *Server) dismiss(uid uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answered[uid]--; s.answered[uid] <= 0 {
		delete(s.answered, uid)
	}
}

// converse takes one request and answers it.
func (s *Server) converse(conn *os.File) {
	_ = conn.SetDeadline(time.Now().Add(patience))
	a := s.answerTo(conn)
	a.Serve = Protocol
	text, err := json.Marshal(a)
	if err == nil {
		_, err = conn.Write(text)
	}
	if err != nil {
		s.options.Log.Debug("who asked does not listen", "error", err)
	}
}

func (s *Server) answerTo(conn *os.File) answer {
	what, err := receive(conn)
	if err != nil {
		return answer{Error: err.Error()}
	}
	peer, err := identify(conn)
	if err != nil {
		return answer{Error: err.Error()}
	}
	var r request
	if err := json.Unmarshal(what, &r); err != nil {
		return answer{Error: "the request is not JSON as docs/serve.md has it"}
	}
	switch r.Ask {
	case "start":
		return s.start(peer)
	case "stop":
		return s.stop(peer)
	}
	return answer{Error: fmt.Sprintf("nothing is known of %.40q", r.Ask)}
}

// start begins a session of the process that asks.
func (s *Server) start(p Peer) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before := s.sessions[p.Identity]; before != nil {
		if before.stopping {
			return answer{Error: "the session before is ending; try again in a moment"}
		}
		return answer{OK: true, Runs: true}
	}
	if why := s.refuses(p.UID); why != "" {
		return answer{Error: why}
	}
	child, err := s.options.Session(p)
	if err != nil {
		s.options.Log.Warn("a session could not be started", "pid", p.PID, "error", err)
		return answer{Error: "the session could not be started; the server's log says why"}
	}
	s.started[p.UID] = append(s.started[p.UID], time.Now())
	one := &session{peer: p, child: child}
	s.sessions[p.Identity] = one
	s.ended.Add(1)
	s.options.Log.Info("a session begins", "pid", p.PID, "uid", p.UID)
	go s.await(one)
	a := answer{OK: true, Last: s.last[p.Identity]}
	delete(s.last, p.Identity)
	return a
}

// refuses says why a user may have no further session now, "" for nothing.
func (s *Server) refuses(uid uint32) string {
	if s.closing {
		return "the server is ending"
	}
	recent := s.started[uid][:0]
	for _, at := range s.started[uid] {
		if time.Since(at) < startsEvery {
			recent = append(recent, at)
		}
	}
	if s.started[uid] = recent; len(recent) == 0 {
		delete(s.started, uid)
	}
	n := 0
	for _, one := range s.sessions {
		if one.peer.UID == uid {
			n++
		}
	}
	switch {
	case n >= s.options.PerUser:
		return fmt.Sprintf("you have %d sessions already, as many as this server allows; %%tracer stop in another notebook ends one", n)
	case len(s.sessions) >= s.options.InAll:
		return "the server has as many sessions as it may have"
	case len(recent) >= 2*s.options.PerUser:
		return "you have started so many sessions in the last minute that there are no more now"
	}
	return ""
}

// maxRemembered is of how many processes it is remembered how their last session ended.
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
	s.tell(one)
	return answer{OK: true}
}

// How long a session may take to end: when its notebook says so, and with the server. Nothing is lost with one that is killed: it writes no file.
const (
	lastPatience = time.Minute
	endPatience  = 2 * time.Second
)

// tell has a session end: it is asked to, and made to after a while.
func (s *Server) tell(one *session) {
	if one.stopping {
		return
	}
	one.stopping = true
	for _, signal := range []unix.Signal{unix.SIGCONT, unix.SIGTERM} { // its user may have stopped it
		if err := one.child.Signal(signal); err != nil {
			s.options.Log.Debug("a session could not be told to end", "pid", one.peer.PID, "error", err)
		}
	}
	go func() {
		select {
		case <-one.child.Ended:
		case <-time.After(lastPatience):
			_ = one.child.Signal(unix.SIGKILL)
		}
	}()
}

// end ends all sessions, and kills those that have not ended after a while.
func (s *Server) end() {
	s.mu.Lock()
	s.closing = true
	for _, one := range s.sessions {
		s.tell(one)
	}
	s.mu.Unlock()
	defer time.AfterFunc(endPatience, s.kill).Stop()
	s.ended.Wait()
}

// kill ends what is left of them.
func (s *Server) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.sessions {
		s.options.Log.Warn("a session does not end, and is killed", "pid", one.peer.PID)
		_ = one.child.Signal(unix.SIGKILL)
	}
}
