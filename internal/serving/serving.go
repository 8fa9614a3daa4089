// Package serving starts sessions for kernels that ask for one on a Unix socket. Each session is of the process that
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
// bytes, and then the server closes the connection.
const Protocol = "ipytracer/serve/v1"

// Bounds of a user's use of the server.
const (
	maxRequest  = 256                   // bytes of a request
	patience    = 2 * time.Second       // the time that a connection may take in all
	maxAtOnce   = 64                    // connections that are answered at the same time
	maxOfUser   = 8                     // connections of one user that are answered at the same time
	giveWay     = 50 * time.Millisecond // the wait for the slot of a silent connection
	startsEvery = time.Minute           // in this time a user may start twice as many sessions as may run at a time
)

// Options are the options of a server.
type Options struct {
	Log     *slog.Logger
	PerUser int // sessions of one user at a time
	InAll   int // of all users
	// Auto begins a session also for a process that only announces itself ("auto"), as companions do when they are
	// loaded.
	Auto bool
	// Login returns the user to whom a process counts, given the process's user and its control group ("" if that is
	// not known). If Login is nil, a process counts to its own user.
	Login func(uid uint32, group string) uint32
	// Session starts the command that traces a process until it gets SIGTERM. The command runs as if the user had typed
	// it with sudo; for root, as if root had typed it.
	Session func(Peer) (*Child, error)
	// Porter starts a process that has the files open and does nothing until it is killed.
	Porter func([]*os.File) (*Child, error)
}

// Child is a process that the server has started.
type Child struct {
	Signal func(unix.Signal) error
	// Ended is closed when the process has ended. Said then returns its last message; "" if all was well.
	Ended <-chan struct{}
	Said  func() string
	// Report is the path of the session's report; "" if the session leaves none.
	Report string
}

// Server starts sessions for the processes that ask for them.
type Server struct {
	options Options
	porters *porters

	mu       sync.Mutex
	sessions map[process.Identity]*session
	answered map[uint32]int              // connections that are being answered, by the user to whom they count
	silent   []*os.File                  // connections without a request so far, the oldest first
	started  map[uint32][]time.Time      // the starts of sessions within startsEvery, by the same user
	last     map[process.Identity]string // how the last session of a process ended, if not well
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
	// OK: a session begins, is running already, or ends. Otherwise Error gives the reason in a sentence.
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
	Runs  bool   `json:"runs,omitempty"` // the session ran before
	Last  string `json:"last,omitempty"` // how the last session of this process ended, if not well
	// Report is the path of the session's report.
	Report string `json:"report,omitempty"`
	// Auto: this server traces every kernel that announces itself. Error says why it does not trace this one.
	Auto bool `json:"auto,omitempty"`
}

// Serve answers requests on a listening socket until ctx ends. Then it ends all sessions, and waits for them.
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
			time.Sleep(100 * time.Millisecond) // the connection waits until accept succeeds
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

// turnAway closes a connection without reading from it.
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

// part closes a connection that counts to a user: at once, or by a porter if the close could take long. It calls done
// when the connection is closed.
func (s *Server) part(conn *os.File, login uint32, done func()) {
	if err := empty(conn); err != nil {
		s.options.Log.Debug("a connection cannot be closed at once", "user", login, "error", err)
		s.porters.take(conn, login, done)
		return
	}
	conn.Close()
	done()
}

// admit reports whether the user to whom a connection counts may have one more, and then counts the connection.
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

// takeSlot takes a slot for a connection. If there is none, the connection that has been silent for longest must give
// its slot up: a notebook asks as soon as it connects. (Limits for each user are not enough, because somebody may have
// any number of subordinate users.)
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
	case <-late.C: // the silent connection cannot be closed soon, because descriptors are queued in it
		return false
	}
}

// awaits records a connection as silent. It returns a function that ends that.
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

// converse reads one request and answers it.
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
