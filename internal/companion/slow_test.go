package companion

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/event"
	"ipytracer/internal/hostile"
)

// patience is for a machine that has much else to do.
const patience = time.Minute

// settles waits until nothing is left to close, and no thread too many is there.
func settles(t *testing.T, h *Hub) {
	t.Helper()
	closed := make(chan struct{})
	go func() { h.closers.Wait(); close(closed) }()
	select {
	case <-closed:
	case <-time.After(patience):
		t.Fatalf("lines are being closed still, and %d wait", h.closers.Waiting())
	}
}

// sendSlow sends a descriptor along that takes hours to close, until the test is over.
func (n *notebook) sendSlow(packet string) {
	n.t.Helper()
	end, err := hostile.Send(n.end, packet)
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { end.Close() })
}

// TestSlowToClose: a process sends a descriptor that takes hours to close along with a request, behind one, or without
// a word. It holds neither the session nor another's line, takes no more threads than are allowed, and gives them back.
func TestSlowToClose(t *testing.T) {
	for name, attack := range map[string]func(n *notebook){
		"with a request": func(n *notebook) { n.sendSlow(`{"id": 1, "ask": "cells"}`) },
		"behind one": func(n *notebook) {
			n.send(`{"id": 1, "ask": "cells"}`)
			n.sendSlow("x")
			n.hub.Note(&event.Boundary{Kind: event.ProcessExit, PID: int32(n.pid)})
		},
		"without a word": func(n *notebook) {
			n.sendSlow("")
			n.hub.Note(&event.Boundary{Kind: event.ProcessExec, PID: int32(n.pid)})
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(book{1: cell(1, 7)})
			other := connect(t, h, 7)
			other.packet()
			most := 0
			for i := range hostile.Attempts(100) {
				n := connect(t, h, 100+i)
				n.packet()
				attack(n)
				n.say()
				all, err := os.ReadDir("/proc/self/task")
				if err != nil {
					t.Fatal(err)
				}
				most = max(most, len(all))
				if a := other.ask(fmt.Sprintf(`{"id": %d, "ask": "cells"}`, i+1)); a.ID != int64(i+1) ||
					len(a.Windows) != 1 {
					t.Fatalf("another's answer: %+v", a)
				}
			}
			if most > 80 {
				t.Errorf("%d threads", most)
			}
			h.Close()
			settles(t, h)
		})
	}
}

// TestMisusersGetNoLink: a process that has misused its line a few times gets no other, until its number is another
// process's.
func TestMisusersGetNoLink(t *testing.T) {
	h := newHub(book{})
	for range maxStrikes {
		if !h.Accepts(7) {
			t.Fatal("not accepted too early")
		}
		n := connect(t, h, 7)
		n.packet()
		if err := unix.Sendmsg(n.end, []byte("x"), unix.UnixRights(0), nil, 0); err != nil {
			t.Fatal(err)
		}
		n.say()
		n.isOver()
		h.Note(&event.Boundary{Kind: event.ProcessExec, PID: 7}) // which makes it no other process
	}
	if h.Accepts(7) || !h.Accepts(8) {
		t.Error("it is still accepted, or another one is not")
	}
	h.Note(&event.Boundary{Kind: event.ProcessExit, PID: 7})
	if !h.Accepts(7) {
		t.Error("another process of that number is not accepted")
	}
}

// TestClosedLinesTakeNoRoom: lines that processes have lost leave room for others'.
func TestClosedLinesTakeNoRoom(t *testing.T) {
	h := newHub(book{})
	for pid := 1; pid <= maxLines; pid++ {
		n := connect(t, h, pid)
		n.packet()
		n.send(strings.Repeat("x", maxRequest+1))
		n.say()
		if a := n.packet(); a != nil {
			t.Fatalf("%+v", a)
		}
	}
	if a := connect(t, h, maxLines+1).packet(); a == nil {
		t.Error("another has no line")
	}
}

// TestTooManyToClose: while so many lines wait to be closed that there would be no bound, none is taken over.
func TestTooManyToClose(t *testing.T) {
	h := newHub(book{})
	for pid := range uint32(maxClosing) {
		h.closers.Begin(pid)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer write.Close()
	end, err := unix.Dup(int(write.Fd()))
	if err = errors.Join(err, write.Close(), read.SetReadDeadline(time.Now().Add(patience))); err != nil {
		t.Fatal(err)
	}
	for range maxToClose {
		if !h.Accepts(7) {
			t.Fatal("not accepted too early")
		}
		h.closers.Put(7, end) // the first one is the pipe's
		end = -1
	}
	if h.Accepts(7) {
		t.Error("it is accepted")
	}
	h.closers.Close(0)
	if _, err := read.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Fatal("nothing is closed: ", err)
	}
	if !h.Accepts(7) {
		t.Fatal("it is accepted no more")
	}
}

// TestLockedEnd: a process that keeps its end of a line locked, by receiving into memory that nobody serves, and asks,
// holds up neither the session nor another's line.
func TestLockedEnd(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("it takes userfaultfd(2)")
	}
	h := newHub(book{1: cell(1, 7)})
	other := connect(t, h, 7)
	other.packet()
	for i := range hostile.Attempts(100) {
		n := connect(t, h, 100+i)
		m, err := hostile.NewMemory()
		if err != nil {
			t.Fatal(err)
		}
		over, err := m.Receive(n.end) // the greeting
		if err != nil {
			t.Fatal(err)
		}
		for id := range 2 * maxAtOnce {
			n.send(fmt.Sprintf(`{"id": %d, "ask": "cells"}`, id+1))
		}
		n.say()
		if a := other.ask(fmt.Sprintf(`{"id": %d, "ask": "cells"}`, i+1)); a.ID != int64(i+1) || len(a.Windows) != 1 {
			t.Fatalf("another's answer: %+v", a)
		}
		h.Note(&event.Boundary{Kind: event.ProcessExit, PID: int32(n.pid)})
		settles(t, h)
		m.Release()
		<-over
	}
}

// TestThrownAway: a process that closes lines without having read the greeting, as a companion of line/v1 does, is
// reported once.
func TestThrownAway(t *testing.T) {
	var said []int
	h := New(Options{Older: func(pid int) { said = append(said, pid) }}, book{})
	for i := range 3 * maxStrikes {
		n := connect(t, h, 7)
		if len(said) != min(i/maxStrikes, 1) {
			t.Errorf("said after %d: %v", i, said)
		}
		if err := unix.Shutdown(n.end, unix.SHUT_RDWR); err != nil {
			t.Fatal(err)
		}
		unix.Close(n.end)
		n.end = -1
	}
	for range 2 * maxStrikes {
		n := connect(t, h, 8)
		n.packet()
	}
	if len(said) != 1 || said[0] != 7 {
		t.Errorf("said: %v", said)
	}
}
