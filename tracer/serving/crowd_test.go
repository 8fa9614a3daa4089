package serving

import (
	"errors"
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
