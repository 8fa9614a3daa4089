package agent

import (
	"cmp"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds on the connections of a door, of all and of one peer.
const (
	maxConnections = 64
	maxOfPeer      = 16
	maxASecond     = 128 // that a peer may begin; more are closed at once
)

// doorGate hands on the connections of a listener, and bounds their number. Who connects while there is no room takes
// the place of another connection: of the peer's own if it has as many as it may, or else of the peer with most. Of
// these the one goes that has been idle for longest, or, if none is idle, the one that is answered for longest.
type doorGate struct {
	net.Listener
	file *os.File // the same socket
	admission
	pace  pace
	users *netlink // says who connects over the loopback

	mu    sync.Mutex
	conns map[net.Conn]*visit
}

// visit is a connection that is open.
type visit struct {
	peer  string
	busy  bool      // a request is answered
	since time.Time // when that, or being idle, began
}

func newGate(socket net.Listener, who admission) (g *doorGate, err error) {
	g = &doorGate{Listener: socket, admission: who, users: &netlink{}, conns: map[net.Conn]*visit{},
		pace: pace{most: cmp.Or(who.aSecond, maxASecond), long: time.Second}}
	if l, is := socket.(interface{ File() (*os.File, error) }); is {
		g.file, err = l.File()
	}
	return g, err
}

// Close closes the socket, and has [gate.Accept] fail.
func (g *doorGate) Close() error { return errors.Join(g.Listener.Close(), g.file.Close()) }

// Accept returns the next connection. One of a user who may not connect, or begins too many, is closed.
func (g *doorGate) Accept() (net.Conn, error) {
	fd, peer, err := g.next()
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "a connection")
	c, err := net.FileConn(f)
	f.Close()
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	out := g.place(peer)
	g.conns[c] = &visit{peer: peer, since: time.Now()}
	g.mu.Unlock()
	if out != nil {
		out.Close()
	}
	return c, nil
}

// next returns the next connection that may be, as a descriptor: one that may not costs a few system calls, since it
// keeps those behind it waiting.
func (g *doorGate) next() (fd int, peer string, err error) {
	raw, err := g.file.SyscallConn()
	if err != nil {
		return -1, "", err
	}
	var failed error
	err = raw.Read(func(of uintptr) bool {
		for {
			var from unix.Sockaddr
			fd, from, failed = unix.Accept4(int(of), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
			switch {
			case errors.Is(failed, unix.EAGAIN):
				return false
			case errors.Is(failed, unix.EINTR), errors.Is(failed, unix.ECONNABORTED):
				continue
			case failed != nil:
				failed = os.NewSyscallError("accept4", failed)
				return true
			}
			var may bool
			if peer, may = g.peerOf(fd, from, g.users); may && g.pace.may(peer, time.Now()) {
				return true
			}
			_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}) // nothing is kept
			unix.Close(fd)
		}
	})
	return fd, peer, errors.Join(err, failed)
}

// place returns the connection that makes room for another one of a peer, nil where there is room. The caller holds mu.
func (g *doorGate) place(peer string) (out net.Conn) {
	of := map[string]int{}
	most := peer
	for _, v := range g.conns {
		if of[v.peer]++; of[v.peer] > of[most] {
			most = v.peer
		}
	}
	switch {
	case of[peer] >= maxOfPeer:
		most = peer
	case len(g.conns) < maxConnections:
		return nil
	}
	var worst *visit
	for c, v := range g.conns {
		if v.peer == most && (worst == nil || v.idler(worst)) {
			out, worst = c, v
		}
	}
	delete(g.conns, out)
	return out
}

// idler reports whether a visit goes before another one.
func (v *visit) idler(than *visit) bool {
	if v.busy != than.busy {
		return !v.busy
	}
	return v.since.Before(than.since)
}

// note takes in the state of a connection, as [http.Server.ConnState].
func (g *doorGate) note(c net.Conn, state http.ConnState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	v := g.conns[c]
	if v == nil {
		return
	}
	switch state {
	case http.StateActive, http.StateIdle:
		v.busy, v.since = state == http.StateActive, time.Now()
	case http.StateClosed, http.StateHijacked:
		delete(g.conns, c)
	case http.StateNew:
	}
}
