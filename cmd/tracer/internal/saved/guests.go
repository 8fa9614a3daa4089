package saved

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
)

// The most connections of a [viewer] at once. Any user of the machine can connect, but only a client with the secret
// can name it.
const (
	mostStrangers = 256 // connections without the secret so far; one more, and the oldest is closed
	mostKnown     = 64  // connections with the secret
)

// guests are the connections of a server of pages. The number of strangers' connections is bounded, and they never keep
// out later ones. Safe for concurrent use.
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
		enter(&g.strangers, conn, mostStrangers)
	case http.StateClosed, http.StateHijacked:
		leave(&g.strangers, conn)
		leave(&g.known, conn)
	}
}

// know records that a request on the connection had the secret.
func (g *guests) know(request *http.Request) {
	conn, ok := request.Context().Value(guestKey{}).(net.Conn)
	if !ok {
		return // in a test
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if leave(&g.strangers, conn) { // it was not known yet, and was not closed meanwhile
		enter(&g.known, conn, mostKnown)
	}
}

// enter adds a connection, and closes the oldest where there are too many.
func enter(to *[]net.Conn, conn net.Conn, most int) {
	*to = append(*to, conn)
	if len(*to) > most {
		_ = (*to)[0].Close() // does not wait: no linger is set on this side
		*to = slices.Delete(*to, 0, 1)
	}
}

// leave removes a connection, and reports whether it was there.
func leave(from *[]net.Conn, conn net.Conn) bool {
	at := slices.Index(*from, conn)
	if at < 0 {
		return false
	}
	*from = slices.Delete(*from, at, at+1)
	return true
}
