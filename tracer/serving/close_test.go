package serving

import (
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// slowToClose is a descriptor that takes hours to close for the one who closes it last: a connection with data that nobody reads, which
// lingers (SO_LINGER). The caller keeps the other end.
func slowToClose(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	end, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end.Close() }) // which has the other end's close come back
	f, err := c.(*net.TCPConn).File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	for some := make([]byte, 1<<16); err == nil; {
		_, err = unix.Write(fd, some)
	}
	if err := unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1, Linger: 30000}); err != nil {
		t.Fatal(err)
	}
	return fd
}

// refusesDescriptors reports whether this Linux has SO_PASSRIGHTS.
func refusesDescriptors(t *testing.T) bool {
	t.Helper()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PASSRIGHTS, 0) == nil
}

// TestSlowToClose: whoever sends along what takes hours to close keeps nobody from being answered, and the server from ending.
func TestSlowToClose(t *testing.T) {
	if !refusesDescriptors(t) {
		t.Skip("this Linux lets descriptors along (before 6.16): see KNOWN_ISSUES.md")
	}
	r := serve(t, 4)
	for range maxOfUser { // from then on connections are closed as they come, with what is in them
		idle, err := connect(r.folder)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(idle)
	}
	refused := 0
	for range 100 {
		fd := slowToClose(t)
		conn, err := connect(r.folder)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(conn)
		if unix.Sendmsg(conn, []byte(stop), unix.UnixRights(fd), nil, unix.MSG_NOSIGNAL) != nil {
			refused++
		}
		go unix.Close(fd) // where it is refused this one lingers, until the other end has gone
	}
	if refused == 0 {
		t.Error("descriptors come along")
	}
	if a := r.ask(start); !a.OK {
		t.Errorf("%+v", a)
	}
}

// TestStoppedSession: a session that does not end, whatever it is told, is killed with the server.
func TestStoppedSession(t *testing.T) {
	r := serve(t, 4)
	ended := make(chan struct{})
	killed := make(chan struct{})
	r.server.mu.Lock()
	r.server.options.Session = func(Peer) (*Child, error) {
		return &Child{
			Signal: func(s unix.Signal) error {
				if s == unix.SIGKILL {
					close(killed)
					close(ended)
				}
				return nil
			},
			Ended: ended, Said: func() string { return "" },
		}, nil
	}
	r.server.mu.Unlock()
	if a := r.ask(start); !a.OK {
		t.Fatalf("%+v", a)
	}
	if a := r.ask(stop); !a.OK {
		t.Fatalf("%+v", a)
	}
	began := time.Now()
	r.server.end()
	<-killed
	if took := time.Since(began); took > lastPatience/2 { // then it was the notebook's own stop that ended it
		t.Errorf("it was killed after %v", took)
	}
}
