package serving

import (
	"errors"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/process"
	"ipytracer/internal/hostile"
)

// TestManyConnections: a thousand connections that send nothing keep nobody else waiting for long, and are closed.
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

// TestSilentUsers: connections of many users that send nothing, in each place that there is, give way to who asks.
func TestSilentUsers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("it takes other users")
	}
	r := serve(t, 4)
	var held []int
	for uid := 70000; uid < 70000+2*maxAtOnce/maxOfUser; uid++ {
		for range maxOfUser {
			held = append(held, r.connectAs(uid))
		}
	}
	defer func() {
		for _, fd := range held {
			unix.Close(fd)
		}
	}()
	for n := range 20 {
		began := time.Now()
		fd, err := connect(r.folder)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Send(fd, []byte(stop), unix.MSG_NOSIGNAL); err != nil {
			t.Fatal(err)
		}
		if a, text, err := hear(fd); err != nil || a.Error == "" {
			t.Errorf("request %d is not answered: %q, %v", n, text, err)
		}
		unix.Close(fd)
		if took := time.Since(began); took >= patience {
			t.Errorf("request %d: answered after %v", n, took)
		}
	}
}

// TestSubordinateUsers: all users that one may be have sessions and connections as one user, so others have theirs.
func TestSubordinateUsers(t *testing.T) {
	const owner, first, other = 1000, 100000, 1001
	s := New(Options{
		Log: slog.New(slog.DiscardHandler), PerUser: 2, InAll: 4,
		Login: func(uid uint32, _ string) uint32 {
			if uid >= first {
				return owner
			}
			return uid
		},
		Session: func(Peer) (*Child, error) {
			return &Child{Ended: make(chan struct{}), Said: func() string { return "" }}, nil
		},
	})
	begun := 0
	for n := range uint32(64) {
		if s.start(Peer{Identity: process.Identity{PID: int(first + n)}, UID: first + n}).OK {
			begun++
		}
	}
	if a := s.start(Peer{Identity: process.Identity{PID: other}, UID: other}); begun != 2 || !a.OK {
		t.Errorf("one user has %d sessions as 64 users; another one: %+v", begun, a)
	}
	s.options.Login = func(uint32, string) uint32 { return owner }
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[1])
	conn := os.NewFile(uintptr(pair[0]), "a connection")
	defer conn.Close()
	for range 2 * maxOfUser {
		s.admit(conn)
	}
	if s.answered[owner] != maxOfUser {
		t.Errorf("one user has connections: %v", s.answered)
	}
}

// connectAs connects as another user: with a thread that is that user's meanwhile.
func (r *rig) connectAs(uid int) (fd int) {
	r.t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	become := func(uid int) {
		const same = ^uintptr(0)
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, same, uintptr(uid), same); errno != 0 {
			r.t.Fatal(errno)
		}
	}
	become(uid)
	fd, err := connect(r.folder)
	become(0)
	if err != nil {
		r.t.Fatal(err)
	}
	return fd
}

// TestNobodyReads: connections that ask and never read their answer keep nobody else waiting, and are closed. So are
// those that never end.
func TestNobodyReads(t *testing.T) {
	r := serve(t, 4)
	before, most := files(t), 0
	var held []int
	for n := range hostile.Attempts(300) {
		fd, err := connect(r.folder)
		if err != nil {
			t.Fatal(err)
		}
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 1)
		for range 1 + n%3 { // more than one request is none
			_ = unix.Send(fd, []byte(stop), unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
		}
		held = append(held, fd)
		if n%100 == 99 {
			if a := r.ask(stop); a.OK || a.Error == "" {
				t.Errorf("beside %d: %+v", n, a)
			}
			most = max(most, threads(t))
		}
	}
	r.another()
	if most > 100 {
		t.Errorf("%d threads", most)
	}
	r.settles(before + len(held))
	for _, fd := range held {
		unix.Close(fd)
	}
}

// TestSessionsOfAUserAreLimited: a user has so many sessions, and begins so many in a while.
func TestSessionsOfAUserAreLimited(t *testing.T) {
	r := serve(t, 1)
	first, _ := r.peer("ask")
	in, err := first.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-r.begins:
	case <-time.After(late):
		t.Fatal("no session begins")
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
