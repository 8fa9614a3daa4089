package serving

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/packets"
	"ipytracer/internal/host/process"
)

// late is how long something may take that takes a moment on an idle machine.
const late = 2 * time.Minute

// rig is a server with made-up sessions.
type rig struct {
	t      *testing.T
	folder string
	server *Server
	mu     sync.Mutex
	begun  []Peer
	begins chan struct{}         // has a value once a session has begun
	ended  map[int]chan struct{} // by pid
	got    []unix.Signal
	said   string
}

func serve(t *testing.T, perUser int) *rig {
	t.Helper()
	return serveOn(t, perUser, packets.Refuse)
}

// serveOn serves on a socket that refuses descriptors in some way, or does not.
func serveOn(t *testing.T, perUser int, refuse func(fd int)) *rig {
	t.Helper()
	r := &rig{t: t, folder: t.TempDir(), ended: map[int]chan struct{}{}, begins: make(chan struct{}, 1)}
	for _, dir := range []string{filepath.Dir(r.folder), r.folder} { // another user is to get there
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	l, err := listen(r.folder, SocketName, refuse)
	if err != nil {
		t.Fatal(err)
	}
	r.server = New(Options{Log: slog.New(slog.DiscardHandler), PerUser: perUser, InAll: 8, Session: r.begin,
		Porter: StartPorter})
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- r.server.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		select {
		case err := <-over:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(late):
			t.Error("the server does not end")
		}
		l.Close()
		if len(r.server.sessions) > 0 {
			t.Errorf("sessions are left: %v", r.server.sessions)
		}
	})
	return r
}

func (r *rig) begin(p Peer) (*Child, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ended := make(chan struct{})
	r.begun, r.ended[p.PID] = append(r.begun, p), ended
	select {
	case r.begins <- struct{}{}:
	default:
	}
	var once sync.Once
	return &Child{
		Signal: func(s unix.Signal) error {
			r.mu.Lock()
			r.got = append(r.got, s)
			r.mu.Unlock()
			if s != unix.SIGCONT {
				once.Do(func() { close(ended) })
			}
			return nil
		},
		Ended: ended, Said: func() string {
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.said
		},
	}, nil
}

func (r *rig) peers() []Peer {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Peer(nil), r.begun...)
}

func connect(folder string) (int, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 120})
	return fd, unix.Connect(fd, &unix.SockaddrUnix{Name: filepath.Join(folder, SocketName)})
}

// converse sends a packet, and returns the answer; empty: the server has closed.
func converse(folder string, packet []byte) (a answer, text string, err error) {
	fd, err := connect(folder)
	if err != nil {
		return a, "", err
	}
	defer unix.Close(fd)
	if err := unix.Send(fd, packet, unix.MSG_NOSIGNAL); err != nil {
		return a, "", err
	}
	return hear(fd)
}

func hear(fd int) (a answer, text string, err error) {
	buffer := make([]byte, 8<<10)
	n, err := unix.Read(fd, buffer)
	// it was closed with something in it; everything that was sent before is there still
	if errors.Is(err, unix.ECONNRESET) {
		n, err = unix.Read(fd, buffer)
	}
	if err != nil || n == 0 {
		return a, "", err
	}
	return a, string(buffer[:n]), json.Unmarshal(buffer[:n], &a)
}

func (r *rig) ask(packet string) answer {
	r.t.Helper()
	for deadline := time.Now().Add(late); ; {
		a, text, err := converse(r.folder, []byte(packet))
		if err == nil && text != "" {
			return a
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("%q is not answered: %q %v", packet, text, err)
		}
	}
}

const (
	start = `{"ask": "start"}`
	stop  = `{"ask": "stop"}`
)

func self(t *testing.T) process.Identity {
	t.Helper()
	id, err := process.FS{}.Identity(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestSessions: a process that asks has a session, once. The session ends at a request. If it ended otherwise, the next
// answer has the reason.
func TestSessions(t *testing.T) {
	r := serve(t, 4)
	if a := r.ask(stop); a.OK || a.Error == "" || a.Serve != Protocol {
		t.Errorf("stopped before it began: %+v", a)
	}
	if a := r.ask(start); !a.OK || a.Runs {
		t.Fatalf("%+v", a)
	}
	if a := r.ask(start); !a.OK || !a.Runs {
		t.Errorf("again: %+v", a)
	}
	if p := r.peers(); len(p) != 1 || p[0].Identity != self(t) || int(p[0].UID) != os.Getuid() ||
		int(p[0].GID) != os.Getgid() {
		t.Errorf("sessions of %+v", p)
	}
	a := r.ask(stop)
	r.mu.Lock()
	if !a.OK || !slices.Equal(r.got, []unix.Signal{unix.SIGCONT, unix.SIGTERM}) {
		t.Errorf("stop: %+v, %v", a, r.got)
	}
	r.said = "it went wrong"
	r.mu.Unlock()
	r.restart()
	r.mu.Lock()
	close(r.ended[os.Getpid()])
	r.ended[os.Getpid()] = make(chan struct{})
	r.mu.Unlock()
	for deadline := time.Now().Add(late); ; {
		if a := r.ask(start); a.OK && !a.Runs {
			if a.Last != "it went wrong" {
				t.Errorf("after one that failed: %+v", a)
			}
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("a session that has ended runs")
		}
	}
}

// restart starts one as soon as the one before has ended.
func (r *rig) restart() {
	r.t.Helper()
	for deadline := time.Now().Add(late); time.Now().Before(deadline); {
		if a := r.ask(start); a.OK && !a.Runs {
			return
		}
	}
	r.t.Fatal("no session begins")
}

// TestNothingOfARequestCounts: whatever else is in a request, the session is of the process that connected.
func TestNothingOfARequestCounts(t *testing.T) {
	r := serve(t, 4)
	for _, packet := range []string{
		`{"ask": "start", "pid": 1, "uid": 0, "record": "/etc/passwd", "args": ["--output", "/etc/shadow"]}`,
		`{"ask": "start", "Identity": {"PID": 1}}`,
	} {
		if a := r.ask(packet); !a.OK {
			t.Errorf("%s: %+v", packet, a)
		}
	}
	if p := r.peers(); len(p) != 1 || p[0].Identity != self(t) {
		t.Errorf("sessions of %+v", p)
	}
}

// TestHostileRequests: a request that is too long, nonsense, or with descriptors gets a sentence, and no session.
func TestHostileRequests(t *testing.T) {
	r := serve(t, 4)
	for _, packet := range []string{
		"{", "null", "[]", "\x00\xff", `{"ask": 7}`, `{"ask": "attach"}`, `{"ask": "start\u0000"}`,
		strings.Repeat("{", 256), `{"ask": "start"}` + strings.Repeat(" ", 300),
		strings.Repeat("x", 60_000),
	} {
		if a := r.ask(packet); a.OK || a.Error == "" {
			t.Errorf("%.40q: %+v", packet, a)
		}
	}
	fd, err := connect(r.folder)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	pipe := make([]int, 2)
	if err := unix.Pipe(pipe); err != nil {
		t.Fatal(err)
	}
	sent := unix.Sendmsg(fd, []byte(start), unix.UnixRights(bytesOf(pipe[1], 200)...), nil, 0)
	unix.Close(pipe[1])
	if errors.Is(sent, unix.EPERM) { // Linux 6.16 and newer
	} else if a, _, err := hear(fd); err != nil || a.OK || !strings.Contains(a.Error, "descriptors") {
		t.Errorf("with descriptors: %+v, %v", a, err)
	}
	if n, err := unix.Read(pipe[0], make([]byte, 1)); n != 0 || err != nil { // ends when they are closed
		t.Errorf("they are not closed: %d %v", n, err)
	}
	if p := r.peers(); len(p) > 0 {
		t.Errorf("sessions of %+v", p)
	}
}

func bytesOf(fd, n int) (all []int) {
	for range n {
		all = append(all, fd)
	}
	return all
}
