package serving

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/packets"
	"ipytracer/internal/hostile"
)

// threads is how many this process has.
func threads(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// files is how many Unix sockets this process has open.
func files(t *testing.T) (n int) {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		fd, err := strconv.Atoi(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		if domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN); err == nil &&
			domain == unix.AF_UNIX {
			n++
		}
	}
	return n
}

// dirty are the ways to send along a descriptor that takes hours to close: with a request, behind one, with nothing.
// The functions that they return end that.
var dirty = map[string]func(conn int) (io.Closer, error){
	"request": func(conn int) (io.Closer, error) { return hostile.SendAnother(conn, stop) },
	"behind": func(conn int) (io.Closer, error) {
		if err := unix.Sendmsg(conn, []byte(stop), nil, nil, unix.MSG_NOSIGNAL); err != nil {
			return nil, err
		}
		return hostile.SendAnother(conn, stop)
	},
	"nothing": func(conn int) (io.Closer, error) {
		if err := unix.Sendmsg(conn, nil, nil, nil, unix.MSG_NOSIGNAL); err != nil {
			return nil, err
		}
		return hostile.SendAnother(conn, "")
	},
}

// attack is a process of its own: else the processes that the server starts would have the attacker's descriptors, and
// be the last that have them.
func attack(folder, way string) error {
	for range hostile.Attempts(100) {
		conn, err := connect(folder)
		if err != nil {
			return err
		}
		_, _ = dirty[way](conn) // it fails where it is refused, or where the connection is closed already
	}
	fmt.Println("attacked")
	_, err := os.Stdin.Read(make([]byte, 1))
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// TestSlowToClose: a process that sends along a descriptor that takes hours to close keeps no other process from an
// answer, and does not keep the server from ending. That holds on a Linux that refuses descriptors, and on one that
// does not. All room is given back.
func TestSlowToClose(t *testing.T) {
	for name, refuse := range map[string]func(int){"refused": packets.Refuse, "let along": func(int) {}} {
		for way := range dirty {
			t.Run(name+" "+way, func(t *testing.T) {
				r := serveOn(t, 4, refuse)
				before := files(t)
				cmd, errors := r.peer("attack " + way)
				in, err := cmd.StdinPipe()
				if err != nil {
					t.Fatal(err)
				}
				cmd.Stdout = nil
				out, err := cmd.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				said, err := bufio.NewReader(out).ReadString('\n')
				if said != "attacked\n" {
					t.Errorf("%q, %v: %s", said, err, errors)
				}
				r.another()
				if n := threads(t); n > 100 {
					t.Errorf("%d threads", n)
				}
				r.settles(before)
				in.Close()
				if err := cmd.Wait(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// another has another user ask, who gets an answer.
func (r *rig) another() {
	r.t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	cmd, out := r.peer("another")
	// As with the server's own: a process that begins has the descriptors that are being handed over, and would be the
	// last to close them.
	forks := r.server.porters.forks
	forks.Lock()
	err := cmd.Start()
	forks.Unlock()
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil || !strings.Contains(out.String(), "heard true") {
		r.t.Errorf("another user: %v: %s", err, out)
	}
}

// settles waits until nothing of anybody's is open that was not before.
func (r *rig) settles(before int) {
	r.t.Helper()
	p := r.server.porters
	for deadline := time.Now().Add(late); ; {
		p.mu.Lock()
		left := len(p.aside) + p.running
		p.mu.Unlock()
		r.server.mu.Lock()
		answered := len(r.server.answered)
		r.server.mu.Unlock()
		if left == 0 && answered == 0 && files(r.t) <= before {
			return
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("left: %d put aside or with porters, users that are being answered: %d, sockets: %d, before %d",
				left, answered, files(r.t), before)
		}
		_, _, _ = converse(r.folder, []byte(stop)) // until it is answered, or turned away
	}
}

// TestMisusersAreNotHeard: a user who has sent descriptors a few times is not heard any more, and is heard again after
// a while.
func TestMisusersAreNotHeard(t *testing.T) {
	r := serveOn(t, 4, func(int) {})
	p := r.server.porters
	for n := range maxMisuses {
		if !p.trusts(uint32(os.Getuid())) {
			t.Fatalf("not heard any more after %d", n)
		}
		conn, err := connect(r.folder)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Sendmsg(conn, []byte(stop), unix.UnixRights(0), nil, unix.MSG_NOSIGNAL); err != nil {
			t.Fatal(err)
		}
		if a, text, err := hear(conn); err != nil || !strings.Contains(a.Error, "descriptors") {
			t.Errorf("%q, %v", text, err)
		}
		if a, text, _ := hear(conn); text != "" || a.OK { // until the connection is closed
			t.Errorf("%q", text)
		}
		unix.Close(conn)
	}
	conn, err := connect(r.folder)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(conn)
	_ = unix.Sendmsg(conn, []byte(stop), nil, nil, unix.MSG_NOSIGNAL)
	if _, text, _ := hear(conn); text != "" {
		t.Errorf("it is heard: %q", text)
	}
	r.another()
	p.mu.Lock()
	for i := range p.misused[uint32(os.Getuid())] {
		p.misused[uint32(os.Getuid())][i] = time.Now().Add(-misusedFor)
	}
	p.mu.Unlock()
	if a := r.ask(stop); a.Error == "" {
		t.Errorf("after a while: %+v", a)
	}
}

// TestStoppedSession: a session that does not end, whatever the signal, is killed with the server; one that does not
// end even then is not waited for.
func TestStoppedSession(t *testing.T) {
	for _, dies := range []bool{true, false} {
		r := serve(t, 4)
		ended := make(chan struct{})
		killed := make(chan struct{})
		r.server.mu.Lock()
		r.server.options.Session = func(Peer) (*Child, error) {
			return &Child{
				Signal: func(s unix.Signal) error {
					if s == unix.SIGKILL {
						close(killed)
						if dies {
							close(ended)
						}
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
		if !dies {
			close(ended)
			r.server.ended.Wait()
		}
	}
}
