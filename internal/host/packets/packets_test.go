package packets_test

import (
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	. "ipytracer/internal/host/packets"
	"ipytracer/internal/hostile"
)

// patience is for a machine that has much else to do.
const patience = time.Minute

// inTime fails if something does not come back, as a close that lingers.
func inTime(t *testing.T, what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { do(); close(done) }()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatal(what, " does not come back")
	}
}

func pair(t *testing.T) (ours, theirs int) {
	t.Helper()
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(p[1]) })
	return p[0], p[1]
}

func send(t *testing.T, to int, packet string) {
	t.Helper()
	if err := unix.Sendmsg(to, []byte(packet), nil, nil, unix.MSG_NOSIGNAL); err != nil {
		t.Fatal(err)
	}
}

// sendSlow sends a descriptor along that takes hours to close, until the test is over.
func sendSlow(t *testing.T, to int, packet string) error {
	t.Helper()
	end, err := hostile.Send(to, packet)
	if end == nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end.Close() })
	return err
}

// TestPacketsWithDescriptorsAreNotReceived: packets come one by one; one with descriptors is not received, however
// often it is tried.
func TestPacketsWithDescriptorsAreNotReceived(t *testing.T) {
	ours, theirs := pair(t)
	buffer := make([]byte, 16)
	if _, err := Next(ours, buffer); !errors.Is(err, unix.EAGAIN) {
		t.Errorf("where there is nothing: %v", err)
	}
	send(t, theirs, "one")
	if err := sendSlow(t, theirs, "two"); err != nil {
		t.Fatal(err)
	}
	inTime(t, "a packet with descriptors", func() {
		if n, err := Next(ours, buffer); err != nil || string(buffer[:n]) != "one" {
			t.Errorf("%q, %v", buffer[:n], err)
		}
		for range 3 {
			if _, err := Next(ours, buffer); !errors.Is(err, ErrDescriptors) {
				t.Errorf("%v", err)
			}
		}
	})
	closeElsewhere(t, ours)
}

// closeElsewhere closes a descriptor that lingers, on a thread of its own.
func closeElsewhere(t *testing.T, fds ...int) {
	t.Helper()
	c := Closers{Most: 1, MostOf: 1}
	if !c.Begin(1) {
		t.Fatal("no room")
	}
	c.Close(1, fds...)
	inTime(t, "closing it", c.Wait)
}

// TestCloseDoesNotBlock: a socket without descriptors in it is closed at once, whatever else lies there; one with
// descriptors is left open.
func TestCloseDoesNotBlock(t *testing.T) {
	for name, before := range map[string][]string{"nothing": nil, "packets": {"x", "", "y"},
		"empty ones": {"", "", ""}} {
		t.Run(name, func(t *testing.T) {
			for _, with := range []bool{false, true} {
				for _, left := range []bool{false, true} { // the other end is closed first
					ours, theirs := pair(t)
					for _, p := range before {
						send(t, theirs, p)
					}
					if with {
						if err := sendSlow(t, theirs, ""); err != nil {
							t.Fatal(err)
						}
						send(t, theirs, "")
					}
					if left {
						if err := unix.Shutdown(theirs, unix.SHUT_RDWR); err != nil {
							t.Fatal(err)
						}
					}
					var err error
					inTime(t, "closing it", func() { err = Close(ours) })
					if !with {
						if err != nil {
							t.Errorf("%v", err)
						}
						continue
					}
					if !errors.Is(err, ErrDescriptors) {
						t.Errorf("with descriptors: %v", err)
					}
					if unix.Sendmsg(theirs, []byte("x"), nil, nil, unix.MSG_NOSIGNAL) == nil {
						t.Error("more comes into it")
					}
					closeElsewhere(t, ours)
				}
			}
		})
	}
}

// TestAnswerBeforeClose: the receiver reads everything that was sent, though the socket was closed with packets in it.
func TestAnswerBeforeClose(t *testing.T) {
	ours, theirs := pair(t)
	send(t, theirs, "a request")
	send(t, ours, "an answer")
	if err := Close(ours); err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 16)
	if n, err := unix.Read(theirs, buffer); err != nil || string(buffer[:n]) != "an answer" {
		t.Errorf("%q, %v", buffer[:n], err)
	}
}

// TestDescriptorsAreRefused: where this Linux can refuse descriptors, no sender gets any in, and no other sender waits
// for that.
func TestDescriptorsAreRefused(t *testing.T) {
	ours, theirs := pair(t)
	Refuse(ours)
	err := sendSlow(t, theirs, "x")
	if unix.SetsockoptInt(ours, unix.SOL_SOCKET, unix.SO_PASSRIGHTS, 0) != nil { // before 6.16
		t.Skip("this Linux lets descriptors along")
	}
	if !errors.Is(err, unix.EPERM) {
		t.Errorf("descriptors come along: %v", err)
	}
	if err := Close(ours); err != nil {
		t.Error(err)
	}
}

// TestClosers: a hundred descriptors in one socket keep a thread for no longer than one, and no owner has more threads
// than it may have.
func TestClosers(t *testing.T) {
	c := Closers{Most: 3, MostOf: 2}
	for i, one := range []struct {
		owner uint32
		ok    bool
	}{{7, true}, {7, true}, {7, false}, {8, true}, {9, false}} {
		if c.Begin(one.owner) != one.ok {
			t.Errorf("the bounds are not kept at %d", i)
		}
	}
	ours, theirs := pair(t)
	for range 100 {
		if err := sendSlow(t, theirs, "x"); err != nil {
			t.Fatal(err)
		}
	}
	c.Close(7, ours, -1)
	c.Close(7)
	c.Close(8, -1)
	inTime(t, "closing them", c.Wait)
	for _, owner := range []uint32{7, 7, 9} {
		if !c.Begin(owner) {
			t.Error("the room is not given back")
		}
	}
}
