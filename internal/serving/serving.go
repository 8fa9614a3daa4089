// Package serving starts sessions for kernels that ask for one on a Unix socket: each session is of the process that
// asks, and of no other, and has that user's rights. This package decides who may ask, and how often. It knows neither
// the contents of a session nor the answers to a notebook.
//
// A request is one of three words, and has nothing else. The Linux kernel says which process asks (SO_PEERCRED,
// SO_PEERPIDFD), and not the request. So a request has no pid, path or flag that could be another process's.
package serving

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/process"
)

// Protocol is the version of the protocol on the socket: one request of at most 256 bytes, one answer of at most 4,096
// bytes, then the server closes.
const Protocol = "ipytracer/serve/v1"

// Bounds of a peer's use of the server.
const (
	maxRequest  = 256             // bytes
	patience    = 2 * time.Second // that a connection may take in all
	maxAtOnce   = 64              // connections that are being answered
	maxOfUser   = 8               // of these, of one user
	giveWay     = 50 * time.Millisecond
	startsEvery = time.Minute // a user may start twice as many sessions as may run, in this time
)

// Options are the options of a server.
type Options struct {
	Log     *slog.Logger
	PerUser int // sessions of one user at a time
	InAll   int // of all users
	// Auto begins a session also for a process that only announces itself ("auto"), as companions do when they are
	// loaded.
	Auto bool
	// Login returns the user to whom a process counts, by the process's user and control group. The group is "" where
	// it is not known. nil: a process counts to its own user.
	Login func(uid uint32, group string) uint32
	// Session starts the command that traces a process until the command is asked to end (SIGTERM). It runs as if the
	// user had typed it with sudo, or as root.
	Session func(Peer) (*Child, error)
	// Porter starts a process that has some files open and does nothing until it is killed.
	Porter func([]*os.File) (*Child, error)
}

// Child is a session under way.
type Child struct {
	Signal func(unix.Signal) error
	// Ended is closed when the session has ended. Said is then its last message; "" where all was well.
	Ended <-chan struct{}
	Said  func() string
	// Report is where the session's report will be; "" where it leaves none.
	Report string
}

// Server answers.
type Server struct {
	options Options
	porters *porters

	mu       sync.Mutex
	sessions map[process.Identity]*session
	answered map[uint32]int         // connections that are being answered, by the user to whom they count
	silent   []*os.File             // connections that have asked nothing yet, the oldest first
	started  map[uint32][]time.Time // likewise, in the last while
	last     map[process.Identity]string
	closing  bool
	ended    sync.WaitGroup
}

type session struct {
	peer     Peer
	login    uint32 // to whom it counts
	child    *Child
	stopping bool
}

// New returns a server.
func New(o Options) *Server {
	s := &Server{
		options: o, sessions: map[process.Identity]*session{}, answered: map[uint32]int{},
		started: map[uint32][]time.Time{},
		last:    map[process.Identity]string{},
	}
	s.porters = newPorters(o, &s.mu)
	return s
}

// request is a notebook's request.
type request struct {
	Ask string `json:"ask"` // "start", "stop" or "auto"
}

// answer is the server's answer to a notebook.
type answer struct {
	Serve string `json:"serve"`
	// OK: a session begins, runs already, or ends. Else Error is the reason in a sentence.
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
	Runs  bool   `json:"runs,omitempty"` // the session ran before
	Last  string `json:"last,omitempty"` // how the last session of this process ended, if not well
	// Report is where the session's report will be.
	Report string `json:"report,omitempty"`
	// this server traces every kernel that announces itself; Error is the reason why not this one
	Auto bool `json:"auto,omitempty"`
}

// Serve answers on a socket that listens, until the context ends. Then it ends all sessions, and waits for their ends.
func (s *Server) Serve(ctx context.Context, l *Listener) error {
	stop := context.AfterFunc(ctx, func() { l.wake(); s.porters.hurry() })
	defer stop()
	carried := make(chan struct{})
	go func() { s.porters.run(); close(carried) }() // one for each server
	defer func() {
		for _, fd := range l.stop() {
			s.turnAway(connection(fd))
		}
		s.end()
		s.porters.end()
		<-carried
	}()
	slots := make(chan struct{}, maxAtOnce)
	for {
		s.porters.awaitRoom()
		conn, err := l.accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				s.turnAway(conn)
			}
			return nil
		case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE), errors.Is(err, unix.ENOBUFS),
			errors.Is(err, unix.ENOMEM):
			s.options.Log.Warn("a connection could not be taken", "error", err)
			time.Sleep(100 * time.Millisecond) // it is there still
			continue
		case err != nil:
			return fmt.Errorf("accept: %w", err)
		}
		login, ok := s.admit(conn)
		if ok && !s.takeSlot(slots) {
			s.dismiss(login)
			ok = false
		}
		if !ok {
			s.turnAway(conn)
			continue
		}
		_ = conn.SetDeadline(time.Now().Add(patience))
		spoke := s.awaits(conn)
		go func() { // maxAtOnce of them: each has a slot
			s.converse(conn, spoke)
			// The room that a user occupies is given up when the connection is closed, and not before.
			s.part(conn, login, func() { s.dismiss(login); <-slots })
		}()
	}
}

// turnAway closes a connection that sends nothing.
func (s *Server) turnAway(conn *os.File) {
	cred, err := credentials(conn)
	if err != nil {
		cred = &unix.Ucred{}
	}
	s.part(conn, s.loginOf(cred.Uid, ""), func() {})
}

// loginOf returns the user to whom a process counts.
func (s *Server) loginOf(uid uint32, group string) uint32 {
	if s.options.Login == nil {
		return uid
	}
	return s.options.Login(uid, group)
}

// part closes a connection that counts to a user. Where that could take long, a porter closes it, and else part does at
// once. done is called when the connection is closed.
func (s *Server) part(conn *os.File, login uint32, done func()) {
	if err := empty(conn); err != nil {
		s.options.Log.Debug("a connection cannot be closed at once", "user", login, "error", err)
		s.porters.take(conn, login, done)
		return
	}
	conn.Close()
	done()
}

// admit reports whether the user to whom a connection counts has room for one more.
func (s *Server) admit(conn *os.File) (login uint32, ok bool) {
	cred, err := credentials(conn)
	if err != nil {
		return 0, false
	}
	login = s.loginOf(cred.Uid, "")
	if !s.porters.trusts(login) {
		return 0, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answered[login] >= maxOfUser {
		return 0, false
	}
	s.answered[login]++
	return login, true
}

func (s *Server) dismiss(login uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answered[login]--; s.answered[login] <= 0 {
		delete(s.answered, login)
	}
}

// takeSlot takes a slot for a connection. Where there is none, the connection that has been silent for longest gives
// way: somebody may have any number of users (subordinate ones), and a notebook asks as it connects.
func (s *Server) takeSlot(slots chan<- struct{}) bool {
	select {
	case slots <- struct{}{}:
		return true
	default:
	}
	s.mu.Lock()
	oldest := len(s.silent) > 0
	if oldest {
		_ = s.silent[0].SetReadDeadline(time.Now())
		s.silent = s.silent[1:]
	}
	s.mu.Unlock()
	if !oldest {
		return false
	}
	late := time.NewTimer(giveWay)
	defer late.Stop()
	select {
	case slots <- struct{}{}:
		return true
	case <-late.C: // it has descriptors in it
		return false
	}
}

// awaits notes that a connection has asked nothing yet. It returns the function that notes that the connection has
// asked.
func (s *Server) awaits(conn *os.File) (spoke func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silent = append(s.silent, conn)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.silent = slices.DeleteFunc(s.silent, func(c *os.File) bool { return c == conn })
	}
}

// converse takes one request and answers it.
func (s *Server) converse(conn *os.File, spoke func()) {
	a := s.answerTo(conn, spoke)
	a.Serve = Protocol
	text, err := json.Marshal(a)
	if err == nil {
		_, err = conn.Write(text)
	}
	if err != nil {
		s.options.Log.Debug("who asked does not listen", "error", err)
	}
}

func (s *Server) answerTo(conn *os.File, spoke func()) answer {
	what, err := receive(conn)
	spoke()
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
	case "auto":
		if !s.options.Auto {
			return answer{Error: "this server traces a kernel only if its notebook asks for that ('start')"}
		}
		a := s.start(peer)
		a.Auto = true
		return a
	}
	return answer{Error: fmt.Sprintf("nothing is known of %.40q", r.Ask)}
}
