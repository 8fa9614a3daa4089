package serving

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/tracer/process"
)

// late is how long something may take that takes a moment on an idle machine.
const late = 2 * time.Minute

// rig is a server whose sessions are made up.
type rig struct {
	t      *testing.T
	folder string
	server *Server
	mu     sync.Mutex
	begun  []Peer
	ended  map[int]chan struct{} // by pid
	told   []unix.Signal
	said   string
}

func serve(t *testing.T, perUser int) *rig {
	t.Helper()
	r := &rig{t: t, folder: t.TempDir(), ended: map[int]chan struct{}{}}
	if err := os.Chmod(r.folder, 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := Listen(r.folder)
	if err != nil {
		t.Fatal(err)
	}
	r.server = New(Options{Log: slog.New(slog.DiscardHandler), PerUser: perUser, InAll: 8, Session: r.begin})
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
	var once sync.Once
	return &Child{
		Signal: func(s unix.Signal) error {
			r.mu.Lock()
			r.told = append(r.told, s)
			r.mu.Unlock()
			once.Do(func() { close(ended) })
			return nil
		},
		Ended: ended, Said: func() string { return r.said },
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

// TestSessions: who asks has one, once; it ends as it is told to, and how it ended otherwise is told the next time.
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
	if p := r.peers(); len(p) != 1 || p[0].Identity != self(t) || int(p[0].UID) != os.Getuid() || int(p[0].GID) != os.Getgid() {
		t.Errorf("sessions of %+v", p)
	}
	if a := r.ask(stop); !a.OK || len(r.told) != 1 || r.told[0] != unix.SIGTERM {
		t.Errorf("stop: %+v, %v", a, r.told)
	}
	r.said = "it went wrong"
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

// TestNothingOfARequestCounts: whatever a request says besides, the session is of the process that connected.
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

// TestHostileRequests: what is too long, nonsense, or brings descriptors along gets a sentence, and no session.
func TestHostileRequests(t *testing.T) {
	r := serve(t, 4)
	for _, packet := range []string{
		"{", "null", "[]", "\x00\xff", `{"ask": 7}`, `{"ask": "attach"}`, `{"ask": "start\u0000"}`, strings.Repeat("{", 256), `{"ask": "start"}` + strings.Repeat(" ", 300),
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
	if err := unix.Sendmsg(fd, []byte(start), unix.UnixRights(bytesOf(pipe[1], 200)...), nil, 0); err != nil {
		t.Fatal(err)
	}
	unix.Close(pipe[1])
	if a, _, err := hear(fd); err != nil || a.OK || !strings.Contains(a.Error, "descriptors") {
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

// TestManyConnections: a thousand connections that say nothing keep nobody else waiting for long, and are closed.
func TestManyConnections(t *testing.T) {
	r := serve(t, 4)
	var held []int
	for range 1000 {
		fd, err := connect(r.folder)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, fd)
	}
	if a := r.ask(start); !a.OK {
		t.Errorf("beside them: %+v", a)
	}
	for _, fd := range held {
		if a, text, err := hear(fd); a.OK || err != nil && !errors.Is(err, unix.ECONNRESET) {
			t.Errorf("one that says nothing hears %q, %v", text, err)
		}
		unix.Close(fd)
	}
	if a := r.ask(stop); !a.OK {
		t.Errorf("after them: %+v", a)
	}
}

// TestMain is also the processes that connect in the tests: what they do is in the environment.
func TestMain(m *testing.M) {
	if folder, does, ok := strings.Cut(os.Getenv("IPYTRACER_TEST_PEER"), " "); ok {
		if err := actAs(folder, does); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func actAs(folder, does string) error {
	if does == "send" { // on what was inherited
		return converseOn(3)
	}
	fd, err := connect(folder)
	if err != nil {
		return err
	}
	switch does {
	case "exit":
		_ = unix.Send(fd, []byte(start), unix.MSG_NOSIGNAL)
		return unix.Kill(os.Getpid(), unix.SIGKILL)
	case "become":
		if err := unix.Setresuid(65534, 65534, 65534); err != nil {
			return err
		}
	case "exec":
		if err := unix.Dup2(fd, 3); err != nil {
			return err
		}
		return unix.Exec("/proc/self/exe", os.Args, []string{"IPYTRACER_TEST_PEER=" + folder + " send"})
	}
	err = converseOn(fd)
	_, _ = os.Stdin.Read(make([]byte, 1))
	return err
}

func converseOn(fd int) error {
	if err := unix.Send(fd, []byte(start), unix.MSG_NOSIGNAL); err != nil {
		return err
	}
	a, _, err := hear(fd)
	fmt.Printf("heard %v %q\n", a.OK, a.Error)
	return err
}

// peer is another process that does something with the server.
func (r *rig) peer(does string, files ...*os.File) (*exec.Cmd, *bytes.Buffer) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "IPYTRACER_TEST_PEER="+r.folder+" "+does)
	out := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = out, out, files
	return cmd, out
}

// TestPeerThatEnds: one that is gone when it is looked at has no session.
func TestPeerThatEnds(t *testing.T) {
	r := serve(t, 4)
	for range 20 {
		cmd, _ := r.peer("exit")
		_ = cmd.Run()
	}
	r.ask(stop) // by now they have been answered, or will be refused: they are gone
	for _, p := range r.peers() {
		if _, err := (process.FS{}).Identity(p.PID); err == nil && p.PID != os.Getpid() {
			t.Errorf("a session of %+v, which lives", p)
		}
	}
}

// TestPeerThatExecutes: it is the same process, of the same user; and it is that which has the session.
func TestPeerThatExecutes(t *testing.T) {
	r := serve(t, 4)
	cmd, out := r.peer("exec")
	if err := cmd.Run(); err != nil || !strings.Contains(out.String(), "heard true") {
		t.Fatalf("%v: %s", err, out)
	}
	if p := r.peers(); len(p) != 1 || p[0].PID != cmd.Process.Pid {
		t.Errorf("sessions of %+v", p)
	}
}

// TestPeerThatBecomesAnother: who has other rights than when it connected has no session.
func TestPeerThatBecomesAnother(t *testing.T) {
	if os.Geteuid() != 0 {
		if os.Getenv("TRACER_REQUIRE_BPF") == "1" {
			t.Fatal("not root")
		}
		t.Skip("not root")
	}
	r := serve(t, 4)
	cmd, out := r.peer("become")
	if err := cmd.Run(); err != nil || !strings.Contains(out.String(), "another user's") {
		t.Errorf("%v: %s", err, out)
	}
	if p := r.peers(); len(p) != 0 {
		t.Errorf("sessions of %+v", p)
	}
}

// TestForkAfterConnect: a connection that somebody else speaks on is that of who connected.
func TestForkAfterConnect(t *testing.T) {
	r := serve(t, 4)
	fd, err := connect(r.folder)
	if err != nil {
		t.Fatal(err)
	}
	line := os.NewFile(uintptr(fd), "line")
	defer line.Close()
	cmd, out := r.peer("send", line)
	if err := cmd.Run(); err != nil || !strings.Contains(out.String(), "heard true") {
		t.Fatalf("%v: %s", err, out)
	}
	if p := r.peers(); len(p) != 1 || p[0].Identity != self(t) {
		t.Errorf("sessions of %+v", p)
	}
}

// TestLimits: a user has so many sessions, and begins so many in a while.
func TestLimits(t *testing.T) {
	r := serve(t, 1)
	first, _ := r.peer("ask")
	in, err := first.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(late); len(r.peers()) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no session begins")
		}
	}
	if a := r.ask(start); a.OK || !strings.Contains(a.Error, "you have 1 sessions") {
		t.Errorf("one too many: %+v", a)
	}
	in.Close()
	_ = first.Wait()
	r.mu.Lock()
	close(r.ended[first.Process.Pid])
	r.mu.Unlock()
	r.restart()
	r.ask(stop)
	for deadline := time.Now().Add(late); ; {
		if a := r.ask(start); strings.Contains(a.Error, "so many sessions in the last minute") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("sessions without end")
		}
	}
}

// TestFolder: the socket is only made where nobody else could have made it.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	good, link, open := filepath.Join(dir, "good"), filepath.Join(dir, "link"), filepath.Join(dir, "open")
	for _, err := range []error{os.Mkdir(good, 0o755), os.Symlink(good, link), os.Mkdir(open, 0o777), os.Chmod(open, 0o777)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range []string{link, open, filepath.Join(good, "no", "such")} {
		if l, err := Listen(folder); err == nil {
			l.Close()
			t.Errorf("a socket in %s", folder)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(good, SocketName)); err != nil { // what root has put there itself
		t.Fatal(err)
	}
	l, err := Listen(good)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(filepath.Join(good, SocketName))
	if err != nil || info.Mode() != os.ModeSocket|0o666 {
		t.Errorf("%v: %v", info.Mode(), err)
	}
	if _, err := Listen(good); !errors.Is(err, ErrServed) {
		t.Errorf("a second server: %v", err)
	}
	l.close() // as one that is killed: the socket stays
	if l, err = Listen(good); err != nil {
		t.Fatal("what a server has left is in the way: ", err)
	}
	l.Close()
	if _, err := os.Lstat(filepath.Join(good, SocketName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is left: %v", err)
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(good, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		if _, err := Listen(good); !errors.Is(err, ErrFolder) {
			t.Errorf("in another user's folder: %v", err)
		}
	}
}
