package serving

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/internal/hostile"
)

// TestNotAccepted: descriptors in connections that nobody has accepted do not keep a server from ending.
func TestNotAccepted(t *testing.T) {
	folder := t.TempDir()
	l, err := listen(folder, SocketName, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		conn, err := connect(folder)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(conn)
		end, err := hostile.Send(conn, start)
		if err != nil {
			t.Fatal(err)
		}
		defer end.Close()
	}
	closed := make(chan struct{})
	go func() { l.Close(); close(closed) }()
	select {
	case <-closed:
	case <-time.After(late):
		t.Error("it does not come back")
	}
}

// TestNoPorter: where no process can be started connections wait for one, and the server serves.
func TestNoPorter(t *testing.T) {
	r := serveOn(t, 4, func(int) {})
	p := r.server.porters
	p.forks.Lock()
	p.start = func([]*os.File) (*Child, error) { return nil, unix.EAGAIN }
	p.forks.Unlock()
	conn, err := connect(r.folder)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(conn)
	before := files(t)
	if err := unix.Sendmsg(conn, []byte(stop), unix.UnixRights(0), nil, unix.MSG_NOSIGNAL); err != nil {
		t.Fatal(err)
	}
	if a, _, err := hear(conn); err != nil || a.OK {
		t.Errorf("%+v, %v", a, err)
	}
	if a := r.ask(start); !a.OK {
		t.Errorf("%+v", a)
	}
	p.forks.Lock()
	p.start = StartPorter
	p.forks.Unlock()
	if a := r.ask(stop); !a.OK {
		t.Errorf("%+v", a)
	}
	r.settles(before)
}

// TestPortersDescriptorsAreClosed: a porter's descriptors are closed when it has ended, and not before.
func TestPortersDescriptorsAreClosed(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[1])
	if err := unix.Sendmsg(pair[1], []byte("x"), unix.UnixRights(0), nil, unix.MSG_NOSIGNAL); err != nil {
		t.Fatal(err)
	}
	conn := connection(pair[0])
	child, err := StartPorter([]*os.File{conn})
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if err := unix.Sendmsg(pair[1], []byte("x"), nil, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT); err != nil {
		t.Errorf("it is closed before the porter has ended: %v", err)
	}
	if err := child.Signal(unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-child.Ended
	if err := unix.Sendmsg(pair[1], []byte("x"), nil, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT); err == nil {
		t.Error("it is open when the porter has ended")
	}
}
