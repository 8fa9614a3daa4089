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

// Bounds on the connections of a door.
const (
	maxConnections = 64
	maxOfPeer      = 16  // open at a time
	maxASecond     = 128 // begun by one peer; more are closed at once
)

// doorGate hands on the connections of a listener, and bounds their number. While there is no room, a new connection
// closes an older one: of the same peer if that has maxOfPeer, else of the peer with the most. Among that peer's
// connections, the gate closes the one that is idle for longest, or the one that is being answered for longest if none
// is idle.
type doorGate struct {
	net.Listener
	file *os.File // of the listener's socket
	admission
	rate  rateLimit
	users *netlink // finds the user of a connection over the loopback

	mu    sync.Mutex
	conns map[net.Conn]*connState
}

// connState is the state of an open connection.
type connState struct {
	peer  string
	busy  bool      // a request is being answered
	since time.Time // when busy last changed
}

func newGate(socket net.Listener, who admission) (g *doorGate, err error) {
	g = &doorGate{Listener: socket, admission: who, users: &netlink{}, conns: map[net.Conn]*connState{},
		rate: rateLimit{limit: cmp.Or(who.aSecond, maxASecond), period: time.Second}}
	if l, ok := socket.(interface{ File() (*os.File, error) }); ok {
		g.file, err = l.File()
	}
	return g, err
}

// Close closes the socket. [doorGate.Accept] fails then.
func (g *doorGate) Close() error { return errors.Join(g.Listener.Close(), g.file.Close()) }

// Accept returns the next connection. It closes connections of a peer that may not connect, or begins too many.
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
	removed := g.makeRoom(peer)
	g.conns[c] = &connState{peer: peer, since: time.Now()}
	g.mu.Unlock()
	if removed != nil {
		removed.Close()
	}
	return c, nil
}

// next returns the descriptor of the next connection that is allowed, and its peer. It closes the others with few
// system calls, because they keep the allowed ones waiting.
func (g *doorGate) next() (fd int, peer string, err error) {
	raw, err := g.file.SyscallConn()
	if err != nil {
		return -1, "", err
	}
	var acceptErr error
	err = raw.Read(func(listener uintptr) bool {
		for {
			var from unix.Sockaddr
			fd, from, acceptErr = unix.Accept4(int(listener), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
			switch {
			case errors.Is(acceptErr, unix.EAGAIN):
				return false
			case errors.Is(acceptErr, unix.EINTR), errors.Is(acceptErr, unix.ECONNABORTED):
				continue
			case acceptErr != nil:
				acceptErr = os.NewSyscallError("accept4", acceptErr)
				return true
			}
			var allowed bool
			if peer, allowed = g.peerOf(fd, from, g.users); allowed && g.rate.allow(peer, time.Now()) {
				return true
			}
			_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}) // no TIME_WAIT
			unix.Close(fd)
		}
	})
	return fd, peer, errors.Join(err, acceptErr)
}

// makeRoom removes and returns the connection that must be closed for a new one of a peer, nil if there is room. The
// caller holds mu.
func (g *doorGate) makeRoom(peer string) (removed net.Conn) {
	counts := map[string]int{} // by peer
	victim := peer             // the peer with most connections
	for _, s := range g.conns {
		if counts[s.peer]++; counts[s.peer] > counts[victim] {
			victim = s.peer
		}
	}
	switch {
	case counts[peer] >= maxOfPeer:
		victim = peer
	case len(g.conns) < maxConnections:
		return nil
	}
	var removedState *connState
	for c, s := range g.conns {
		if s.peer == victim && (removedState == nil || s.closesBefore(removedState)) {
			removed, removedState = c, s
		}
	}
	delete(g.conns, removed)
	return removed
}

// closesBefore reports whether to close a connection before another one of the same peer.
func (s *connState) closesBefore(other *connState) bool {
	if s.busy != other.busy {
		return !s.busy
	}
	return s.since.Before(other.since)
}

// note is the [http.Server.ConnState] of the door's server.
func (g *doorGate) note(c net.Conn, state http.ConnState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	open := g.conns[c]
	if open == nil {
		return
	}
	switch state {
	case http.StateActive, http.StateIdle:
		open.busy, open.since = state == http.StateActive, time.Now()
	case http.StateClosed, http.StateHijacked:
		delete(g.conns, c)
	case http.StateNew:
	}
}
