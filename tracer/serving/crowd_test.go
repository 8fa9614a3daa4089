package serving

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/tracer/host/attacktest"
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
	for n := range attacktest.Attempts(300) {
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
