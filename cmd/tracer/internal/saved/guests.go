package saved

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
)

// The most connections of a [viewer] at a time. A further connection closes the oldest one of its kind.
const (
	maxStrangers = 256 // without a request that had the secret
	maxKnown     = 64  // with the secret
)

// guests are the connections of a [viewer]. Any user of the machine can connect, so strangers are bounded, apart from
// the clients that know the secret. Any goroutine may call the methods.
type guests struct {
	mu               sync.Mutex
	strangers, known []net.Conn // the oldest first
}

// guestKey is the key of a request's connection in its context.
type guestKey struct{}

// begin puts a connection into the context of its requests (http.Server.ConnContext).
func (g *guests) begin(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, guestKey{}, c)
}

// follow processes a change of a connection's state (http.Server.ConnState).
func (g *guests) follow(conn net.Conn, state http.ConnState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch state {
	case http.StateNew:
		addConn(&g.strangers, conn, maxStrangers)
	case http.StateClosed, http.StateHijacked:
		removeConn(&g.strangers, conn)
		removeConn(&g.known, conn)
	}
}

// admit notes that a request had the secret: its connection is no stranger's any more.
func (g *guests) admit(request *http.Request) {
	conn, ok := request.Context().Value(guestKey{}).(net.Conn)
	if !ok {
		return // in a test
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if removeConn(&g.strangers, conn) { // false if it is known already, or was closed meanwhile
		addConn(&g.known, conn, maxKnown)
	}
}

// addConn adds a connection, and closes the oldest one if there are more than maxConns.
func addConn(conns *[]net.Conn, conn net.Conn, maxConns int) {
	*conns = append(*conns, conn)
	if len(*conns) > maxConns {
		_ = (*conns)[0].Close() // does not wait: no linger is set on this side
		*conns = slices.Delete(*conns, 0, 1)
	}
}

// removeConn removes a connection, and reports whether it was there.
func removeConn(conns *[]net.Conn, conn net.Conn) bool {
	at := slices.Index(*conns, conn)
	if at < 0 {
		return false
	}
	*conns = slices.Delete(*conns, at, at+1)
	return true
}
